import { eventually } from "@tidings/testkit/eventually";

/** The log lines that the processes of a stack write. */
export interface Lines {
  add(name: string, line: string): void;
  /** The lines of one process so far. */
  of(name: string): string[];
  /** A port that a process serves: `ops` is for probes, `grpc` for calls, `web` for visitors. */
  port(name: string, kind: "ops" | "grpc" | "web"): Promise<number>;
  /** Adds the last lines to the error when the work fails. */
  onFailure<T>(work: Promise<T>): Promise<T>;
}

const TAIL = 30;

export function collectLines(): Lines {
  const all: { name: string; line: string }[] = [];
  const of = (name: string) => all.filter((entry) => entry.name === name).map(({ line }) => line);
  return {
    add: (name, line) => void all.push({ name, line }),
    of,
    port: (name, kind) =>
      eventually(() => {
        const ready = of(name).find((line) => line.includes('"ports":'));
        if (!ready) throw new Error(`${name} has not told its ports`);
        return JSON.parse(ready).ports[kind] as number;
      }),
    onFailure: (work) =>
      work.catch((cause) => {
        const tail = all.slice(-TAIL).map(({ name, line }) => `${name}: ${line}`);
        throw new Error(tail.join("\n"), { cause });
      }),
  };
}
