import type { Message } from "@bufbuild/protobuf";

export function idOf(message: Message): number {
  return (message as Message & { id: number }).id;
}
