/** Metrics of the server itself: its version, and its feature gates. */
import { versionInfo } from '../../http/documents/version.ts'
import type { Family } from '../../lib/exposition.ts'
import { VERSION } from '../../version.ts'
import { featureStages } from '../feature-gates.ts'

export function serverFamilies(gate: (name: string) => boolean): Family[] {
  const { major, minor, gitVersion, gitCommit, gitTreeState, buildDate, goVersion, compiler, platform } = versionInfo(VERSION)
  const build = {
    ...{ major: major!, minor: minor!, git_version: gitVersion!, git_commit: gitCommit!, git_tree_state: gitTreeState! },
    ...{ build_date: buildDate!, go_version: goVersion!, compiler: compiler!, platform: platform! },
  }
  return [
    {
      name: 'kubernetes_build_info',
      type: 'gauge',
      across: 'max',
      help: 'The version of this server, and what it runs on.',
      samples: [[build, 1]],
    },
    {
      name: 'kubernetes_feature_enabled',
      type: 'gauge',
      across: 'max',
      help: 'Whether a feature gate is on, by its stage.',
      samples: featureStages().map(([name, stage]) => [{ name, stage }, gate(name) ? 1 : 0] as const),
    },
  ]
}
