import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Tls } from "@tidings/runtime/tls";
import { securityOf } from "../channel.ts";
import { unreached } from "../fault.ts";
import type { CallAnswer, CallStream, OutgoingCall } from "./call-stream.ts";
import { type Replica, replicaAt } from "./replica.ts";

/** All replicas behind a name. */
export interface Connection {
  /** Sends a call to one of them. Rejects with a Fault. */
  call(call: OutgoingCall): Promise<CallAnswer>;
  close(): void;
}

interface ConnectionOptions {
  /** The certificates of both ends; no TLS when absent. */
  tls?: Tls | undefined;
  streamAgeMs?: number;
  /** The addresses that a host name stands for; asked of the system when absent. */
  lookUp?: (host: string) => Promise<string[]>;
}

const STREAM_AGE_MS = 120_000;
/** How old the list of replicas may be. Nobody looks while there are no calls. */
const LOOK_UP_EVERY_MS = 5_000;
/** Where nobody is known, or nobody who answers, others may come at any moment: in a cluster a name is there with the first replica that is ready. */
const LOOK_AGAIN_MS = 500;

/**
 * Connects, with the first call, to all replicas that `host:port` stands for. Streams are renewed after `streamAgeMs`: one that
 * leads through a balancer may then lead to another replica.
 */
export function connect(address: string, options: ConnectionOptions = {}): Connection {
  const { tls, streamAgeMs = STREAM_AGE_MS, lookUp = addressesOf } = options;
  const [host, port] = splitAddress(address);
  const replicas = new Map<string, Replica>();
  let lookedUpMs = Number.NEGATIVE_INFINITY;
  let lookingUp: Promise<void> | undefined;
  /** The streams that may be used: those that stand, or those being opened when none does. */
  let usable: CallStream[] = [];

  const sort = () => {
    const streams = [...replicas.values()].flatMap((replica) => replica.streams);
    const open = streams.filter(({ state }) => state === "open");
    usable = open.length > 0 ? open : streams;
  };
  const replicaOptions = { security: () => securityOf(host, tls), streamAgeMs, onChange: sort };
  const keep = (addresses: string[]) => {
    for (const known of addresses)
      if (!replicas.has(known)) replicas.set(known, replicaAt(known, replicaOptions));
    for (const [known, replica] of replicas) {
      if (addresses.includes(known)) continue;
      replicas.delete(known);
      replica.close();
    }
  };
  const find = async () => {
    lookedUpMs = performance.now();
    try {
      keep((await lookUp(host)).map((ip) => (isIP(ip) === 6 ? `[${ip}]:${port}` : `${ip}:${port}`)));
    } catch {
      // Known replicas stay when the name cannot be resolved: they may still be there.
    }
    lookingUp = undefined;
  };
  const tendAll = () => {
    for (const replica of replicas.values()) replica.tend();
  };
  const call = async (call: OutgoingCall): Promise<CallAnswer> => {
    const lookUpAfterMs = usable.length === 0 ? LOOK_AGAIN_MS : LOOK_UP_EVERY_MS;
    if (performance.now() - lookedUpMs > lookUpAfterMs) lookingUp = find();
    if (usable.length === 0) await lookingUp;
    tendAll();
    if (usable.length === 0 && replicas.size > 0) {
      // The last attempt failed a moment ago. The replica may be back since: it refuses a call only after another attempt.
      const nextAttemptAtMs = Math.min(...[...replicas.values()].map((replica) => replica.nextAttemptAtMs));
      await pauseUntil(Math.min(nextAttemptAtMs, performance.now() + call.deadlineMs - Date.now()));
      tendAll();
    }
    const stream = lessBusyOfTwo(usable);
    if (!stream) throw unreached(new Error(`there is nobody at ${address}`));
    return stream.call(call);
  };
  return {
    call,
    close() {
      lookedUpMs = Number.POSITIVE_INFINITY;
      keep([]);
    },
  };
}

/** `timeMs` is of `performance.now()`. A timer counts from the start of a turn of the event loop: set in a long one, it fires early. */
async function pauseUntil(timeMs: number): Promise<void> {
  for (let left = timeMs - performance.now(); left > 0; left = timeMs - performance.now()) await pause(left);
}

/**
 * Picks of two random streams the one with fewer calls in flight: a slow or stopped replica gets few (Mitzenmacher, "The
 * Power of Two Choices in Randomized Load Balancing", 2001).
 */
function lessBusyOfTwo(streams: CallStream[]): CallStream | undefined {
  const one = streams[Math.floor(Math.random() * streams.length)];
  const other = streams[Math.floor(Math.random() * streams.length)];
  return one && other && other.waiting < one.waiting ? other : one;
}

async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host)) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** `[::1]:5000` and `contact:5000`. */
function splitAddress(address: string): [host: string, port: string] {
  const colon = address.lastIndexOf(":");
  return [address.slice(0, colon).replace(/^\[|\]$/g, ""), address.slice(colon + 1)];
}
