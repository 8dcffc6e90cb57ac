import { setTimeout as pause } from "node:timers/promises";

/** A database or bus that runs beside the product. */
export interface EmbeddedServer {
  readonly exited: Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface SupervisedServerOptions {
  /** As the screen calls it. */
  name: string;
  server: EmbeddedServer;
  /** Does it do what it is for? Asked every few seconds; one that runs is well when absent. */
  isWell?(): Promise<boolean>;
  /** Receives its log lines. */
  tell(line: string): void;
  checkEveryMs?: number;
}

const CHECK_EVERY_MS = 5_000;
/** One answer may be late. */
const FAILURES_MAX = 3;
const RESTART_PAUSE_MS = 1_000;

/**
 * Starts the server again whenever it ends by itself, or has not been well for a while, and tries until it is there: a disk may
 * be full for long.
 */
export function superviseServer(options: SupervisedServerOptions): { stop(): Promise<void> } {
  const { name, server, isWell, tell, checkEveryMs = CHECK_EVERY_MS } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const sleep = (ms: number) => pause(ms, undefined, { signal }).catch(() => undefined);

  /** Resolves when the server has to be started. */
  const untilEnded = async (): Promise<void> => {
    let hasEnded = false;
    const ended = server.exited.then(() => {
      hasEnded = true;
    });
    for (let failures = 0; failures < FAILURES_MAX; ) {
      await Promise.race([ended, sleep(checkEveryMs)]);
      if (hasEnded || signal.aborted) return;
      failures = !isWell || (await isWell()) ? 0 : failures + 1;
    }
    tell(`${name} does not answer and is started again`);
    await server.stop();
  };
  const running = (async () => {
    while (!signal.aborted) {
      await untilEnded();
      if (signal.aborted) return;
      tell(`${name} ended and is started again`);
      let isStarted = false;
      while (!isStarted && !signal.aborted) {
        await sleep(RESTART_PAUSE_MS);
        if (signal.aborted) return;
        isStarted = await server.start().then(
          () => true,
          () => false, // logged already, and tried again
        );
      }
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
      await server.stop();
    },
  };
}
