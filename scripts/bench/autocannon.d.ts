/** The part of the load generator that we use: it ships no types. */
declare module "autocannon" {
  import type { EventEmitter } from "node:events";

  export interface Request {
    method?: string;
    path?: string;
    headers?: Record<string, string>;
    body?: string;
    /** Called before each sending. */
    setupRequest?(request: Request): Request;
  }

  export interface Options {
    url: string;
    connections: number;
    /** Seconds. */
    duration?: number;
    /** Requests in all, instead of a duration. */
    amount?: number;
    requests: Request[];
    /** Milliseconds between samples; a run ends with a sample. */
    sampleInt?: number;
    /** Seconds. */
    timeout?: number;
  }

  export interface Result {
    errors: number;
    timeouts: number;
    non2xx: number;
  }

  /** Emits `response` (client, statusCode, bytes, milliseconds) for each answer. */
  export type Run = EventEmitter & PromiseLike<Result>;

  // biome-ignore lint/style/noDefaultExport: so it is exported
  export default function autocannon(options: Options): Run;
}
