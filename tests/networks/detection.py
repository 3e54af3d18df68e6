"""A detector in two stages: anchors, proposals, suppression, features of regions, boxes by class."""

import os
import sys
from collections import OrderedDict

import torch
from torch import nn

import torchvision_shim  # noqa: F401  (before torchvision)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ops"))

from rows import detection as _operators  # noqa: F401  (kernels of torchvision's operators)
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.faster_rcnn import FastRCNNPredictor, TwoMLPHead
from torchvision.ops import MultiScaleRoIAlign


def _has_ops() -> bool:
    return True


for _module in ("torchvision.extension", "torchvision.ops.roi_align"):
    sys.modules[_module]._has_ops = _has_ops  # those kernels stand in for the compiled ones


class Backbone(nn.Module):
    """Two maps of features, of a quarter and an eighth of the image's size."""

    def __init__(self, width):
        super().__init__()
        self.out_channels = width
        self.first = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 3, 2, 1), nn.ReLU()
        )
        self.second = nn.Sequential(nn.Conv2d(width, width, 3, 2, 1), nn.ReLU())

    def forward(self, x):
        first = self.first(x)
        return OrderedDict([("0", first), ("1", self.second(first))])


class Detector(nn.Module):
    """Boxes, labels and scores of one image."""

    def __init__(self, width=8, pooled=3, classes=4):
        super().__init__()
        self.model = FasterRCNN(
            Backbone(width),
            rpn_anchor_generator=AnchorGenerator(((16,), (32,)), ((0.5, 1.0, 2.0),) * 2),
            box_roi_pool=MultiScaleRoIAlign(["0", "1"], pooled, 1),
            box_head=TwoMLPHead(width * pooled**2, 16),
            box_predictor=FastRCNNPredictor(16, classes),
            min_size=64,
            max_size=160,
            rpn_pre_nms_top_n_test=30,
            rpn_post_nms_top_n_test=12,
            box_score_thresh=0.1,
        )
        for weight in self.parameters():  # far from ties: no order hangs on the last digit
            if weight.dim() > 1:
                nn.init.normal_(weight, std=1.4 / weight[0].numel() ** 0.5)

    def forward(self, image):
        return tuple(self.model([image])[0].values())
