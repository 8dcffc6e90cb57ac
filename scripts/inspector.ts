/** The inspector of a process that was started with `--inspect` (https://chromedevtools.github.io/devtools-protocol/v8/Profiler/). */
export interface Inspector {
  call(method: string, params?: object): Promise<unknown>;
  /** Where the functions begin, in scripts below this URL, that were called since precise coverage began or was asked for. */
  functionsCalled(url: string): Promise<number[]>;
  close(): void;
}

interface Coverage {
  result: { url: string; functions: { ranges: { startOffset: number; count: number }[] }[] }[];
}

export async function openInspector(port: number): Promise<Inspector> {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? "");
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(data);
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let last = 0;
  const call: Inspector["call"] = (method, params = {}) => {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    waiting.set(++last, resolve);
    socket.send(JSON.stringify({ id: last, method, params }));
    return promise;
  };
  return {
    call,
    async functionsCalled(url) {
      // The protocol says that this is what comes.
      const { result } = (await call("Profiler.takePreciseCoverage")) as Coverage;
      return result
        .filter((script) => script.url.startsWith(url))
        .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
        .filter(({ count }) => count > 0)
        .map(({ startOffset }) => startOffset);
    },
    close: () => socket.close(),
  };
}
