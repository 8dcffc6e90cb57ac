import { after } from "node:test";
import type { DescService } from "@bufbuild/protobuf";
import { actorSigner, serviceActor } from "@tidings/rpc/actor";
import { type Outgoing, type RpcClient, rpcClient } from "@tidings/rpc/client";
import { connect } from "@tidings/rpc/stream/connection";
import type { TestStack, TestStackOptions } from "./stack.ts";

/** A client of the content service, which signs as the campaign service does. */
export async function callContent<S extends DescService>(
  { lines }: Pick<TestStack, "lines">,
  service: S,
  actorKeyRing: NonNullable<TestStackOptions["actorKeyRing"]>,
): Promise<RpcClient<S>> {
  const connection = connect(`127.0.0.1:${await lines.port("content", "grpc")}`);
  after(() => connection.close());
  return rpcClient(service, connection, actorSigner(actorKeyRing.campaign.privateKey, "content"));
}

/** A call in the name of a service, for as long as half a minute. */
export function calledBy(name: string): Outgoing {
  return { actor: serviceActor(name), deadlineMs: Date.now() + 30_000, requestId: "" };
}
