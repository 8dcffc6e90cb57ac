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
  // A service that is back is found within two seconds, however long it was away.
  "grpc.initial_reconnect_backoff_ms": 250,
  "grpc.max_reconnect_backoff_ms": 1_000,
  "grpc.dns_min_time_between_resolutions_ms": 1_000,
  // See retry.ts.
  "grpc.enable_retries": 0,
};
