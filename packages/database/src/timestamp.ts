import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";

/** A timestamptz in Postgres' text form (`2024-05-01 10:00:00.123+00`) as a Timestamp of whole seconds. */
export function timestampFromText(text: string): Timestamp {
  return timestampFromMilliseconds(Date.parse(text.length > 19 ? isoText(text) : `${text}Z`));
}

export function timestampFromMilliseconds(milliseconds: number): Timestamp {
  return create(TimestampSchema, { seconds: BigInt(Math.floor(milliseconds / 1000)), nanos: 0 });
}

// `+00` is not an ISO 8601 offset for Date.parse: it wants `+00:00`.
function isoText(text: string): string {
  const iso = text.replace(" ", "T");
  return /[+-]\d\d$/.test(iso) ? `${iso}:00` : iso;
}

/** The text form Postgres gives a timestamptz of whole seconds in UTC. */
export function dateTimeText(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ")}+00`;
}
