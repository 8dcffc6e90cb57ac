import { allowedRanges } from "@tidings/outbound/allowed-ranges";
import { neighbours, readConfig, serviceConfig } from "@tidings/runtime/config";

/** Every variable the campaign service reads. */
export const campaignVariables = {
  ...serviceConfig,
  ...neighbours("contact", "content", "identity"),
  /** Private ranges that events may call all the same. */
  OUTBOUND_ALLOW_CIDRS: allowedRanges.default([]),
};

export function campaignConfig(env: NodeJS.ProcessEnv) {
  return readConfig(campaignVariables, env);
}

export type CampaignConfig = ReturnType<typeof campaignConfig>;
