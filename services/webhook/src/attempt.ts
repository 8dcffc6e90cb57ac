import { SpanKind } from "@opentelemetry/api";
import { OutboundError } from "@tidings/outbound/guard";
import type { Answer, Outbound } from "@tidings/outbound/outbound";
import { inSpan } from "@tidings/runtime/telemetry";
import type { SecretBox } from "@tidings/secrets/secret-box";
import type { Delivery, Outcome } from "./delivery.ts";
import { nextDelay, parseRetryAfter } from "./schedule.ts";
import { signatureHeaders } from "./sign.ts";

export interface AttemptOptions {
  outbound: Outbound;
  /** Seconds before each attempt. */
  schedule: number[];
  /** Opens the secrets of webhooks. */
  box: SecretBox;
  /** Sent to receivers as the origin. */
  publicUrl: string;
}

const NOTE_MAX_BYTES = 1_024;
const GONE = 410;

/** Sends a delivery once and says what is to become of it. Never throws on what a receiver does. */
export function attempt(delivery: Delivery, options: AttemptOptions): Promise<Outcome> {
  const { traceparent, group: webhookId, eventId } = delivery;
  // No path and no query: they may have secrets.
  const attributes = () => ({
    "http.request.method": "POST",
    "server.address": URL.parse(delivery.url)?.hostname ?? "",
    "tidings.webhook.id": webhookId,
    "tidings.event.id": eventId,
  });
  return inSpan("deliver webhook", { kind: SpanKind.CLIENT, traceparent, attributes }, async (span) => {
    const startedAt = performance.now();
    const result = await send(delivery, options);
    if (result instanceof OutboundError) span.setAttribute("error.type", result.name);
    else span.setAttribute("http.response.status_code", result.status);
    const runtimeMs = Math.round(performance.now() - startedAt);
    return outcomeOf(delivery, result, runtimeMs, options.schedule);
  });
}

async function send(
  { url, secret, scheme, eventId, body }: Delivery,
  { outbound, publicUrl, box }: AttemptOptions,
): Promise<Answer | OutboundError> {
  const headers = {
    "Content-Type": "application/json",
    "X-Origin-Base-URL": publicUrl,
    ...signatureHeaders({
      scheme,
      secret: box.open(secret),
      id: eventId,
      timestampSeconds: Math.floor(Date.now() / 1000),
      body,
    }),
  };
  try {
    return await outbound.send({ method: "POST", url, headers, body });
  } catch (error) {
    if (error instanceof OutboundError) return error;
    throw error;
  }
}

function outcomeOf(
  delivery: Delivery,
  result: Answer | OutboundError,
  runtimeMs: number,
  schedule: number[],
): Outcome {
  const isAnswer = !(result instanceof OutboundError);
  const log = {
    delivery,
    runtimeMs,
    statusCode: isAnswer ? result.status : null,
    errorCode: isAnswer ? null : result.code,
    note: isAnswer ? noteOf(result.text) : null,
    isGone: isAnswer && result.status === GONE,
  };
  if (isAnswer && result.status >= 200 && result.status < 300)
    return { ...log, state: "delivered", delaySeconds: 0 };
  const retryAfter = isAnswer ? String(result.headers["retry-after"] ?? "") : "";
  const delay = nextDelay(schedule, delivery.attempts + 1, parseRetryAfter(retryAfter, Date.now()));
  if (delay === undefined || log.isGone) return { ...log, state: "failed", delaySeconds: 0 };
  return { ...log, state: "waiting", delaySeconds: delay };
}

/** NUL is the one character that Postgres' text cannot hold. */
function noteOf(text: string): string {
  return Buffer.from(text.replaceAll("\0", "")).subarray(0, NOTE_MAX_BYTES).toString();
}
