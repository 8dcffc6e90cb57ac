import type { ServerResponse } from "node:http";
import { type Context, context } from "@opentelemetry/api";

const kept = new WeakMap<ServerResponse, Context>();

/** Keeps the present span as that of an answer. */
export function keepSpanOf(response: ServerResponse): void {
  kept.set(response, context.active());
}

/** Does within the span of an answer what comes after it, such as a line of the log. */
export function inSpanOf(response: ServerResponse, work: () => void): void {
  context.with(kept.get(response) ?? context.active(), work);
}
