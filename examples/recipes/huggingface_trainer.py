"""
Hugging Face Trainer: a strength with each label
================================================

The Trainer's ``label_smoothing_factor`` is one number for all samples, and the
function that it takes as ``compute_loss_func`` sees only outputs and labels. So
``compute_loss`` is overridden: it takes the strength out of the batch before the model
sees it. Batches without a strength, as in evaluation, get the plain cross-entropy.

The model is a tiny vision transformer made from a configuration; nothing is
downloaded. If you have a pretrained model, fit the smoother on its embeddings, because
distances between good representations are more meaningful than those between pixels.
"""

import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from transformers import (
    PrinterCallback,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    set_seed,
)

from structsmooth import StructuralSmoother
from structsmooth.metrics import evaluate
from structsmooth.torch import SmoothedDataset, structural_cross_entropy


class SmoothedTrainer(Trainer):
    loss_is_scaled_for_ga = False  # the loss is the mean over one batch

    def compute_loss(self, model, inputs, return_outputs=False, **_):
        strength = inputs.pop("strength", 0.0)
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = structural_cross_entropy(outputs.logits, labels, strength)
        return (loss, outputs) if return_outputs else loss


def main():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

    # The mean strength is also estimated from the data: there is nothing to tune.
    smoother = StructuralSmoother(random_state=0).fit(X_train, y_train)
    strengths = smoother.sample_strengths_

    train_set = [
        {"pixel_values": x.reshape(1, 8, 8), "labels": label}
        for x, label in zip(X_train, y_train, strict=True)
    ]
    test_set = [{"pixel_values": x.reshape(1, 8, 8)} for x in X_test]
    scores = {}
    for name, values in {"plain": 0.0, "structural": strengths}.items():
        # Items that are dictionaries get one more key, "strength".
        trainer = train(SmoothedDataset(train_set, values))
        logits = trainer.predict(test_set).predictions
        probabilities = torch.from_numpy(logits).softmax(dim=1)
        scores[name] = evaluate(y_test, probabilities)  # always on hard labels
    line = "{}: error {error:.3f}, NLL {nll:.3f}"
    print("; ".join(line.format(name, **score) for name, score in scores.items()))
    return scores


def train(train_set):
    set_seed(0)
    config = ViTConfig(
        image_size=8,
        patch_size=4,
        num_channels=1,
        num_labels=10,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    arguments = TrainingArguments(
        output_dir=tempfile.gettempdir(),
        num_train_epochs=15,
        per_device_train_batch_size=128,
        learning_rate=5e-3,
        remove_unused_columns=False,  # keep the strength, which no model takes
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = SmoothedTrainer(
        ViTForImageClassification(config), arguments, train_dataset=train_set
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer


if __name__ == "__main__":
    main()
