"""
skorch: a network with scikit-learn's interface
===============================================

skorch passes a dictionary of inputs to the network by name, and to the loss as a whole,
so it can contain a strength for each sample. The net finds the strengths in ``fit``: in
a cross-validation each fold has its own strengths, from its own training rows, and a
grid search can try several values of ``smoother__alpha``.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch import NeuralNetClassifier
from torch import nn

from structsmooth import StructuralSmoother
from structsmooth.metrics import evaluate
from structsmooth.torch import StructuralCrossEntropyLoss


class Perceptron(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, hidden), nn.ReLU())
        self.layers.append(nn.Linear(hidden, 10))

    def forward(self, inputs, **_):  # only the loss uses the strength
        return self.layers(inputs)


class SmoothedNet(NeuralNetClassifier):
    def __init__(
        self,
        module,
        criterion=StructuralCrossEntropyLoss,
        smoother=StructuralSmoother,
        **kwargs,
    ):
        super().__init__(module, criterion=criterion, **kwargs)
        self.smoother = smoother
        self.prefixes_ = [*self.prefixes_, "smoother"]  # accept smoother__alpha etc.

    def fit(self, X, y):
        smoother = self.smoother(**self.get_params_for("smoother")).fit(X, y)
        return super().fit({"inputs": X, "strength": smoother.sample_strengths_}, y)

    def get_loss(self, logits, target, X, **_):
        # skorch sets the loss to training or evaluation mode. It does not smooth in
        # evaluation mode, so the validation loss of an epoch is that of hard labels.
        return self.criterion_(logits, target, X["strength"])


def main():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    scores = {}
    # "cautious", the default, estimates the mean strength: there is nothing to tune.
    for name, alpha in {"plain": 0.0, "structural": "cautious"}.items():
        torch.manual_seed(0)
        net = SmoothedNet(
            Perceptron,
            smoother__alpha=alpha,
            smoother__random_state=0,
            # Without this, predict_proba returns logits, because skorch adds a softmax
            # only after CrossEntropyLoss itself.
            predict_nonlinearity=nn.Softmax(dim=1),
            optimizer=torch.optim.Adam,
            lr=3e-3,
            batch_size=64,
            max_epochs=15,
            iterator_train__shuffle=True,
            train_split=None,
            verbose=0,
        )
        net.fit(X_train, y_train)
        scores[name] = evaluate(y_test, net.predict_proba(X_test))  # hard labels
    line = "{}: error {error:.3f}, NLL {nll:.3f}"
    print("; ".join(line.format(name, **score) for name, score in scores.items()))
    return scores


if __name__ == "__main__":
    main()
