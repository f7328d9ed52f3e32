/** PodSecurityConfiguration: the policy of namespaces that name none, and the exemptions. */
import { nameIsDNSLabel, nameIsDNSSubdomain } from '../../../lib/names.ts'
import { duplicate, type FieldError, invalid, type Ref, refTo } from '../../../schema/refs.ts'
import { atomic, message, type Static, string } from '../../../schema/types.ts'
import { pluginConfiguration } from '../../plugin-configuration.ts'
import { MODES, type NamespacePolicy, parseLevel, parseVersion } from './namespace-policy.ts'
import type { PodSecurityConfiguration } from './pod-security.ts'
import type { Level, LevelVersion } from './standards.ts'

const Configuration = message('PodSecurityConfiguration', {
  defaults: [
    1,
    message('PodSecurityDefaults', {
      enforce: [1, string],
      'enforce-version': [2, string],
      audit: [3, string],
      'audit-version': [4, string],
      warn: [5, string],
      'warn-version': [6, string],
    }),
  ],
  exemptions: [
    2,
    message('PodSecurityExemptions', {
      usernames: [1, atomic(string)],
      namespaces: [2, atomic(string)],
      runtimeClasses: [3, atomic(string)],
    }),
  ],
})
type Configuration = Static<typeof Configuration>

const KIND = 'PodSecurityConfiguration'

export const POD_SECURITY_CONFIGURATION = pluginConfiguration({
  plugin: 'PodSecurity',
  accepts: {
    'pod-security.admission.config.{group_domain}/v1': KIND,
    'pod-security.admission.config.{group_domain}/v1beta1': KIND,
    'pod-security.admission.config.{group_domain}/v1alpha1': KIND,
  },
  type: Configuration,
  *validate(configuration) {
    const { defaults = {}, exemptions = {} } = configuration
    const at = refTo<Configuration>({ defaults, exemptions })
    for (const mode of ['enforce', 'warn', 'audit'] as const) {
      const [level, version] = [parseLevel(defaults[mode] || 'privileged'), parseVersion(defaults[`${mode}-version`] || 'latest')]
      if ('wrong' in level) yield invalid(at.defaults[mode], level.wrong)
      if ('wrong' in version) yield invalid(at.defaults[`${mode}-version`], version.wrong)
    }
    yield* eachOnce(exemptions.namespaces, at.exemptions.namespaces, name => nameIsDNSLabel(name))
    yield* eachOnce(exemptions.runtimeClasses, at.exemptions.runtimeClasses, name => nameIsDNSSubdomain(name))
    yield* eachOnce(exemptions.usernames, at.exemptions.usernames, name => (name === '' ? ['username must not be empty'] : []))
  },
  settings({ defaults = {}, exemptions = {} }): PodSecurityConfiguration {
    const { usernames = [], namespaces = [], runtimeClasses = [] } = exemptions
    const policies = MODES.map((mode): [string, LevelVersion] => {
      const version = parseVersion(defaults[`${mode}-version`] || 'latest')
      return [mode, { level: (defaults[mode] || 'privileged') as Level, version: 'value' in version ? version.value : 'latest' }]
    })
    return { defaults: Object.fromEntries(policies) as NamespacePolicy, exemptions: { usernames, namespaces, runtimeClasses } }
  },
})

function* eachOnce(names: readonly string[] = [], at: Ref<string[]>, faultsOf: (name: string) => readonly string[]): Iterable<FieldError> {
  const known = new Set<string>()
  for (const [i, name] of names.entries()) {
    const faults = faultsOf(name)
    if (faults.length > 0) yield invalid(at[i]!, faults.join(', '))
    else if (known.has(name)) yield duplicate(at[i]!)
    known.add(name)
  }
}
