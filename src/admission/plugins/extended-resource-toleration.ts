/** ExtendedResourceToleration: pods tolerate the taints of the nodes whose extended resources they ask for. */
import { isExtendedResourceName } from '../../kinds/rules/pod/resources/resource-rules.ts'
import type { Plugin } from '../plugin.ts'
import { podSpecOf } from '../refusal.ts'

export const extendedResourceToleration: Plugin = {
  name: 'ExtendedResourceToleration',
  mutate(attributes) {
    const spec = podSpecOf(attributes)
    if (!spec) return
    const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])]
    const asked = new Set(containers.flatMap(({ resources }) => Object.keys(resources?.requests ?? {})).filter(isExtendedResourceName))
    for (const key of [...asked].sort()) {
      const toleration = { key, operator: 'Exists', effect: 'NoSchedule' }
      const given = spec.tolerations ?? []
      const at = given.findIndex(t => t.key === key && t.effect === toleration.effect && t.operator === toleration.operator && !t.value)
      spec.tolerations = at < 0 ? [...given, toleration] : given.map((other, i) => (i === at ? toleration : other))
    }
  },
}
