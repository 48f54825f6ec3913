"""
PyTorch: one more column in the batch
=====================================

``CrossEntropyLoss(label_smoothing=0.1)`` smooths every label by the same amount. Here
the data loader yields a strength with each sample, and the loss uses it.

One seed and clean digits show how to do it, not how much it helps; for that, compare on
your own data, over several seeds.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from structsmooth import StructuralSmoother
from structsmooth.metrics import evaluate
from structsmooth.torch import SmoothedDataset, structural_cross_entropy

EPOCHS = 15


def main():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    # Fit to the training rows once, before training. The mean strength is also
    # estimated from them, so there is nothing to tune.
    smoother = StructuralSmoother(random_state=0).fit(X_train, y_train)
    strengths = smoother.sample_strengths_

    # Any map-style data set that yields (input, label) can be wrapped.
    digits = TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train))
    scores = {}
    for name, values in {"plain": 0.0, "structural": strengths}.items():
        model = train(SmoothedDataset(digits, values))
        with torch.no_grad():
            probabilities = model(torch.from_numpy(X_test)).softmax(dim=1)
        scores[name] = evaluate(y_test, probabilities)  # always on hard labels
    line = "{}: error {error:.3f}, NLL {nll:.3f}"
    print("; ".join(line.format(name, **score) for name, score in scores.items()))
    return scores


def train(dataset):
    torch.manual_seed(0)  # the same initial weights and the same batches for both
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loader = DataLoader(dataset, batch_size=64, shuffle=True)
    for _ in range(EPOCHS):
        for inputs, target, strength in loader:
            loss = structural_cross_entropy(model(inputs), target, strength)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


if __name__ == "__main__":
    main()
