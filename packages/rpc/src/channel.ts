import type { ChannelOptions } from "@grpc/grpc-js";

const MEGABYTE = 1024 * 1024;

/**
 * Options both ends share. The flow-control window is what limits pages of 25 KB and more when left at its default;
 * keep-alive finds dead peers that no packet tells of.
 */
export const channelOptions: ChannelOptions = {
  "grpc-node.flow_control_window": 4 * MEGABYTE,
  "grpc.max_receive_message_length": 32 * MEGABYTE,
  "grpc.max_send_message_length": 32 * MEGABYTE,
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.enable_channelz": 0,
  // Whoever may be asked again is asked by retry.ts, and a line that broke is opened anew by replica.ts.
  "grpc.enable_retries": 0,
};
