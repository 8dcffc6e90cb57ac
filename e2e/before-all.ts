import { startSharedStack } from "./shared-stack.ts";

// Node's test runner calls the two, by these names, before and after all files of `npm run test:e2e`.

let stop: (() => Promise<void>) | undefined;

export async function globalSetup(): Promise<void> {
  stop = await startSharedStack();
}

export async function globalTeardown(): Promise<void> {
  await stop?.();
}
