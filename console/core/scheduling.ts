/** The scheduler's message about a pod, as reasons with the number of nodes that each rules out. */

export type Reason = { readonly nodes: number; readonly text: string; readonly plugin: string }
export type Unschedulable = {
  readonly available: number
  readonly total: number
  readonly reasons: readonly Reason[]
  readonly preemption: string
  readonly rest: string
}

/** The plugin of the scheduler that gives a reason, by the words it uses. */
const PLUGINS: readonly (readonly [RegExp, string])[] = [
  [/Insufficient|Too many pods/, 'NodeResourcesFit'],
  [/untolerated taint/, 'TaintToleration'],
  [/node affinity\/selector|didn't match Pod's node affinity/, 'NodeAffinity'],
  [/unschedulable/, 'NodeUnschedulable'],
  [/free ports/, 'NodePorts'],
  [/anti-affinity|pod affinity/, 'InterPodAffinity'],
  [/topology spread/, 'PodTopologySpread'],
  [/volume node affinity|persistent ?volume|PersistentVolume|bind|storage/, 'VolumeBinding'],
  [/max volume count/, 'NodeVolumeLimits'],
  [/claim|device|resourceclaim/i, 'DynamicResources'],
  [/requested node name/, 'NodeName'],
]

export const pluginOf = (text: string): string => PLUGINS.find(([words]) => words.test(text))?.[1] ?? ''

/** Parses `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}. preemption: …`. */
export function readMessage(message: string): Unschedulable | undefined {
  const [, available, total, tail = ''] = /^(\d+)\/(\d+) nodes are available:? ?([\s\S]*)$/.exec(message) ?? []
  if (available === undefined) return undefined
  const [reasonText = '', preemption = ''] = tail.split(/\.? ?preemption: /)
  const reasons = splitOutside(reasonText.replace(/\.\s*$/, '').replace(/^\s*\d+\/\d+ nodes are available: /, '')).map(text => {
    const [, nodes = '0', words = text] = /^(\d+) ([\s\S]*)$/.exec(text.trim()) ?? []
    const shown = words.replace(/^node\(s\) /, '')
    return { nodes: Number(nodes), text: shown, plugin: pluginOf(words) }
  })
  return {
    available: Number(available),
    total: Number(total),
    reasons: reasons.filter(({ text }) => text.trim() !== ''),
    preemption: preemption.trim(),
    rest: '',
  }
}

/** Splits at commas and full stops that stand outside of braces. */
function splitOutside(text: string): string[] {
  const parts: string[] = []
  let depth = 0
  let part = ''
  for (const [i, char] of [...text].entries()) {
    if (char === '{' || char === '(') depth++
    else if (char === '}' || char === ')') depth--
    const isEnd = depth === 0 && (char === ',' || (char === '.' && text[i + 1] === ' ')) && /^\s+\d+ /.test(text.slice(i + 1))
    if (isEnd) {
      parts.push(part)
      part = ''
    } else part += char
  }
  return [...parts, part].filter(one => one.trim() !== '')
}
