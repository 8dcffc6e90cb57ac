import { Counter, Histogram } from "prom-client";

const attempts = new Histogram({
  name: "tidings_delivery_attempt_duration_seconds",
  help: "Time that a receiver took, by what came of it: delivered, refused (an answer that is no 2xx), or why there was no answer",
  labelNames: ["result"],
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
});
const givenUp = new Counter({
  name: "tidings_deliveries_given_up_total",
  help: "Deliveries that will not be attempted again, by what came of the last attempt",
  labelNames: ["result"],
});
const age = new Histogram({
  name: "tidings_delivery_age_seconds",
  help: "Time from when a delivery was planned to when its receiver had it, all attempts included",
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600, 21_600, 86_400],
});
/** One attempt of a delivery. */
interface Attempt {
  state: "waiting" | "delivered" | "failed";
  statusCode: number | null;
  errorCode: string | null;
  runtimeMs: number;
}

export function noteAttempt({ state, statusCode, errorCode, runtimeMs }: Attempt): void {
  const result = state === "delivered" ? "delivered" : statusCode === null ? (errorCode ?? "") : "refused";
  attempts.observe({ result }, runtimeMs / 1_000);
  if (state === "failed") givenUp.inc({ result });
}

/** Seconds since the delivery was planned. */
export function noteDelivered(ageSeconds: number): void {
  age.observe(Math.max(0, ageSeconds));
}
