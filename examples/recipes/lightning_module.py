"""
Lightning: smoothing in training_step, and only there
=====================================================

The training loader yields (input, label, strength); the validation and test loaders
yield (input, label). In evaluation mode, which Lightning turns on for validation, the
loss is the plain cross-entropy, so early stopping is based on hard labels.
"""

import logging
import warnings

import lightning
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from structsmooth import StructuralSmoother
from structsmooth.metrics import evaluate
from structsmooth.torch import SmoothedDataset, StructuralCrossEntropyLoss

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module=r"lightning\.")


class DigitClassifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
        self.loss = StructuralCrossEntropyLoss()  # smooths in training mode only

    def forward(self, inputs):
        return self.layers(inputs)

    def training_step(self, batch):
        inputs, target, strength = batch
        return self.loss(self(inputs), target, strength)

    def validation_step(self, batch):
        inputs, target = batch
        self.log("val_loss", self.loss(self(inputs), target))

    def predict_step(self, batch):
        return self(batch[0]).softmax(dim=1)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


def main():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    X_train, X_valid, y_train, y_valid = train_test_split(X, y, random_state=0)

    # Neither validation nor test rows may take part in finding the strengths.
    smoother = StructuralSmoother(random_state=0).fit(X_train, y_train)
    strengths = smoother.sample_strengths_

    train_set, valid_set, test_set = (
        TensorDataset(torch.from_numpy(inputs), torch.from_numpy(labels))
        for inputs, labels in ((X_train, y_train), (X_valid, y_valid), (X_test, y_test))
    )
    scores = {}
    for name, values in {"plain": 0.0, "structural": strengths}.items():
        lightning.seed_everything(0, verbose=False)
        smoothed = SmoothedDataset(train_set, values)
        trainer = lightning.Trainer(
            max_epochs=15,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        model = DigitClassifier()
        trainer.fit(
            model,
            DataLoader(smoothed, batch_size=64, shuffle=True),
            DataLoader(valid_set, batch_size=512),
        )
        batches = trainer.predict(model, DataLoader(test_set, batch_size=512))
        scores[name] = evaluate(y_test, torch.cat(batches))  # always on hard labels
    line = "{}: error {error:.3f}, NLL {nll:.3f}"
    print("; ".join(line.format(name, **score) for name, score in scores.items()))
    return scores


if __name__ == "__main__":
    main()
