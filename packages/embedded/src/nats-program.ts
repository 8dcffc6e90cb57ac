import { goProgram } from "./go-program.ts";

/** A nats-server of this very version, such as `2.12.15`, which needs no library: built once, for which there must be `go`. */
export function natsProgram(version: string): Promise<string> {
  const path = "github.com/nats-io/nats-server/v2";
  return goProgram({ package: path, version: `v${version}`, exact: true });
}
