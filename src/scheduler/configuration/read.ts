/** The file of --scheduler-config-file: a KubeSchedulerConfiguration, made into the settings of the scheduler. Import it lazily: it reads YAML. */
import { ConfigurationError } from '../../codec/configuration-document.ts'
import { aggregate } from '../../lib/go-text.ts'
import type { SchedulerSettings } from '../settings.ts'
import type { Gate } from './args.ts'
import { type CompleteConfiguration, readComplete } from './complete.ts'
import { extendersFrom, withIgnoredResources } from './extenders.ts'
import { profileFrom } from './profiles.ts'
import { validateConfiguration } from './validate.ts'

/** Throws ConfigurationError, with the messages of kube-scheduler. */
export function readSchedulerConfiguration(text: string, gate: Gate): SchedulerSettings {
  const configuration = readComplete(text, gate)
  const errors = [...validateConfiguration(configuration, gate)]
  if (errors.length > 0) throw new ConfigurationError(aggregate(errors.map(({ field, message }) => `${field}: ${message}`)))
  return settingsOf(configuration, gate)
}

function settingsOf(configuration: CompleteConfiguration, gate: Gate): SchedulerSettings {
  const { podInitialBackoffSeconds, podMaxBackoffSeconds } = configuration
  // Mistakes in extenders are reported before those in profiles.
  const extenders = extendersFrom(configuration.extenders)
  return {
    extenders,
    profiles: withIgnoredResources(configuration.profiles, configuration.extenders).map(profile =>
      profileFrom(profile, { ...configuration, gate }),
    ),
    backOff: { firstMs: podInitialBackoffSeconds * 1000, mostMs: podMaxBackoffSeconds * 1000 },
  }
}
