"""Language models behind an OpenAI-compatible chat interface, `llm:MODEL@URL`."""

from misstep.policies.llm.policy import LanguageModelPolicy, load

__all__ = ["LanguageModelPolicy", "load"]
