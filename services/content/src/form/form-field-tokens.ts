import { html } from "@tidings/runtime/html";
import { textOf } from "@tidings/runtime/plain-text";

/** Tokens with the results of a submission as HTML: `{formfield=alias}`. */
export function formFieldTokens(results: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(results).map(([alias, value]) => [
      `formfield=${alias}`,
      html`${resultText(value)}`.markup,
    ]),
  );
}

/** A result in words. */
export function resultText(value: unknown): string {
  return Array.isArray(value) ? value.map((one) => textOf(one) ?? "").join(", ") : (textOf(value) ?? "");
}
