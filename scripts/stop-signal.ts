export interface StopHandlers {
  /** Ends the process in order. */
  stop(): Promise<void>;
  /** Ends at once whatever is still running; must not wait. */
  kill(): void;
}

const ECHO_MS = 500;

/**
 * Stops on Ctrl-C, SIGTERM, a closed terminal, or when the process that started this one is gone; kills on the second
 * Ctrl-C. One Ctrl-C may arrive several times at once (from the terminal, npm and the runner): that counts as one.
 */
export function onStopSignal(handlers: StopHandlers): void {
  let firstAt: number | undefined;
  const signalled = () => {
    if (firstAt === undefined) {
      firstAt = Date.now();
      void handlers.stop();
      return;
    }
    if (Date.now() - firstAt < ECHO_MS) return;
    handlers.kill();
    process.exit(130);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, signalled);
  process.once("disconnect", () => {
    if (firstAt === undefined) signalled();
  });
  process.channel?.unref();
}
