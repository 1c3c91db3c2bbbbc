"""Asking: finding the lines for a question, the student's answer, and its audit."""
