/** Reads the file of --scheduler-config-file. */
import { readFileSync } from 'node:fs'
import type { SchedulerSettings } from '../../scheduler/settings.ts'
import { type Config, ConfigError } from '../config.ts'

/** The settings of the scheduler; undefined without a file, whose code is then not loaded. Throws ConfigError. */
export async function readSchedulerFile(
  { schedulerConfigFile: file }: Config,
  gate: (name: string) => boolean,
): Promise<SchedulerSettings | undefined> {
  if (file === undefined) return undefined
  const [{ ConfigurationError }, { readSchedulerConfiguration }] = await Promise.all([
    import('../../codec/configuration-document.ts'),
    import('../../scheduler/configuration/read.ts'),
  ])
  try {
    return readSchedulerConfiguration(read(file), gate)
  } catch (error) {
    if (error instanceof ConfigurationError) throw new ConfigError(`--scheduler-config-file: ${file}: ${error.message}`)
    throw error
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`--scheduler-config-file: cannot read ${file}: ${(error as Error).message}`)
  }
}
