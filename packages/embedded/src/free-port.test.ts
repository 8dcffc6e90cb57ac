import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { freePort, isFree, onPort } from "./free-port.ts";
import { PortTakenError } from "./server-process.ts";

test("a port somebody listens on is not free, and is again afterwards", async () => {
  const server = createServer().listen(await freePort());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  assert.equal(await isFree(port), false);
  server.close();
  await once(server, "close");
  assert.equal(await isFree(port), true);
});

test("processes that ask at once are given ports of their own", async () => {
  const program = `
    import { freePort } from ${JSON.stringify(import.meta.resolve("./free-port.ts"))};
    console.log(JSON.stringify(await Promise.all(Array.from({ length: 120 }, freePort))));
    process.stdin.resume();`;
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["--input-type=module", "-e", program]),
  );
  const given = await Promise.all(
    children.map(async ({ stdout }) => JSON.parse(String((await once(stdout, "data"))[0])) as number[]),
  );
  for (const child of children) child.kill();
  assert.equal(new Set(given.flat()).size, 480);
});

test("another port is tried when the first is taken meanwhile", async () => {
  const tried: number[] = [];
  const port = await onPort(undefined, async (port) => {
    tried.push(port);
    if (tried.length < 3) throw new PortTakenError("taken");
    return port;
  });
  assert.equal(tried.length, 3);
  assert.equal(port, tried[2]);
});

test("a wanted port is the only one tried", async () => {
  const tried: number[] = [];
  const start = async (port: number) => {
    tried.push(port);
    throw new PortTakenError("taken");
  };
  await assert.rejects(onPort(4711, start), PortTakenError);
  assert.deepEqual(tried, [4711]);
});
