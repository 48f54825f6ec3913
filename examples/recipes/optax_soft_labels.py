"""
JAX and optax: soft labels made inside the loss
===============================================

optax has label smoothing with one amount for all samples. Here the amount is a column
of the batch, next to the class, and the soft labels exist only inside the compiled
loss: nothing of shape (n, K) is ever stored.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from structsmooth import StructuralSmoother, epsilon_from_alpha
from structsmooth.metrics import evaluate

N_CLASSES, HIDDEN, EPOCHS, BATCH = 10, 128, 15, 64


def main():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    # Strengths and their mean come from the training rows only: there is nothing to
    # tune.
    smoother = StructuralSmoother(random_state=0).fit(X_train, y_train)
    # A strength is the mass taken from a sample's own class; optax, like PyTorch and
    # Keras, counts the mass spread over all K classes, including the sample's own.
    epsilon = epsilon_from_alpha(smoother.sample_strengths_, N_CLASSES)

    scores = {}
    for name, smoothing in {"plain": 0 * epsilon, "structural": epsilon}.items():
        params = train(X_train, y_train, smoothing.astype(np.float32))
        probabilities = jax.nn.softmax(forward(params, X_test))
        scores[name] = evaluate(y_test, probabilities)  # always on hard labels
    line = "{}: error {error:.3f}, NLL {nll:.3f}"
    print("; ".join(line.format(name, **score) for name, score in scores.items()))
    return scores


def forward(params, x):
    return jax.nn.relu(x @ params["W1"] + params["b1"]) @ params["W2"] + params["b2"]


def loss(params, x, y, epsilon):
    one_hot = jax.nn.one_hot(y, N_CLASSES)
    # epsilon as a column: every row is smoothed by its own amount.
    targets = optax.smooth_labels(one_hot, epsilon[:, None])
    return optax.softmax_cross_entropy(forward(params, x), targets).mean()


def train(X, y, epsilon, seed=0):
    rng = np.random.default_rng(seed)
    params = {
        "W1": rng.normal(0, 64**-0.5, (64, HIDDEN)).astype(np.float32),
        "b1": jnp.zeros(HIDDEN),
        "W2": rng.normal(0, HIDDEN**-0.5, (HIDDEN, N_CLASSES)).astype(np.float32),
        "b2": jnp.zeros(N_CLASSES),
    }
    optimizer = optax.adam(3e-3)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y, epsilon):
        gradients = jax.grad(loss)(params, x, y, epsilon)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state

    for _ in range(EPOCHS):
        order = rng.permutation(len(X))
        for rows in np.split(order, range(BATCH, len(X), BATCH)):
            params, state = step(params, state, X[rows], y[rows], epsilon[rows])
    return params


if __name__ == "__main__":
    main()
