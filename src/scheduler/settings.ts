/** The settings of the scheduler: its profiles, its extenders, and how long pods wait between attempts. */
import type { ExtenderSettings } from './extenders/extender.ts'
import { DEFAULT_PROFILE, defaultProfile, type Profile } from './profile.ts'

export type SchedulerSettings = {
  readonly profiles: readonly Profile[]
  readonly extenders: readonly ExtenderSettings[]
  /** How long a pod waits after its first attempt, and at most. */
  readonly backOff: BackOff
}

export type BackOff = { readonly firstMs: number; readonly mostMs: number }

/** The settings without a configuration file. */
export const defaultSettings = (gate: (name: string) => boolean): SchedulerSettings => ({
  ...DEFAULT_SETTINGS,
  profiles: [defaultProfile(gate)],
})

export const DEFAULT_SETTINGS: SchedulerSettings = {
  profiles: [DEFAULT_PROFILE],
  extenders: [],
  backOff: { firstMs: 1000, mostMs: 10_000 },
}
