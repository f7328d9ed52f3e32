/** A pod that names its node can be nowhere else. */
import { always, type Plugin, unresolvable } from '../plugin.ts'

const REJECTION = unresolvable("node(s) didn't match the requested node name")

export const nodeName: Plugin = {
  name: 'NodeName',
  isLocal: true,
  seesResizes: true,
  filter({ pod: { spec } }) {
    const { nodeName } = spec
    if (!nodeName) return undefined
    return { names: new Set([nodeName]), test: ({ name }) => (name === nodeName ? undefined : REJECTION) }
  },
  queueingHints: { 'node added': always },
}
