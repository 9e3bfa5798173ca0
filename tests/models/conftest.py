import pytest
import torch


@pytest.fixture
def inference():
    with torch.inference_mode():
        yield
