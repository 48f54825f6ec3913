"""From spanning trees and labels to bounds on the Bayes error."""
