/** Keeps pods from nodes with taints that they do not tolerate, and prefers nodes with few taints that say "better not". */
import { type InEffect, isTolerated, untoleratedTaint } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { type Plugin, scaleToMax, unresolvable } from '../plugin.ts'

const REJECTION = unresolvable('node(s) had untolerated taint(s)')
const AVOIDED = 'PreferNoSchedule'

export const taintTolerationWith = (inEffect: InEffect): Plugin => ({
  name: 'TaintToleration',
  isLocal: true,
  weight: 3,
  filter: ({ pod }) => ({
    test: ({ node }) => (untoleratedTaint(node?.spec?.taints, inEffect(pod.spec.tolerations)) ? REJECTION : undefined),
  }),
  score: ({ pod, cluster }) => {
    if (!cluster.hasAvoidedNodes) return undefined
    const tolerations = inEffect(inEffect(pod.spec.tolerations)).filter(({ effect }) => !effect || effect === AVOIDED)
    return {
      score: ({ node }) => node?.spec?.taints?.filter(taint => taint.effect === AVOIDED && !isTolerated(taint, tolerations)).length ?? 0,
      normalize: scores => scaleToMax(scores, { reversed: true }),
    }
  },
  queueingHints: {
    'node added': ({ spec }, event) => event.about === 'node' && !untoleratedTaint(event.after?.spec?.taints, inEffect(spec.tolerations)),
    'node taints': ({ spec }, event) =>
      event.about === 'node' &&
      untoleratedTaint(event.before?.spec?.taints, inEffect(spec.tolerations)) !== undefined &&
      !untoleratedTaint(event.after?.spec?.taints, inEffect(spec.tolerations)),
    'self tolerations': () => true,
  },
})
