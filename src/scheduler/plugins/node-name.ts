/** A pod that names its node can be nowhere else. */
import { always, type Plugin, rejectedFinally } from '../plugin.ts'

const REJECTION = rejectedFinally("node(s) didn't match the requested node name")

export const nodeName: Plugin = {
  name: 'NodeName',
  filter({ pod: { spec } }) {
    const { nodeName } = spec
    if (!nodeName) return undefined
    return { names: new Set([nodeName]), test: ({ name }) => (name === nodeName ? undefined : REJECTION) }
  },
  wakes: { 'node added': always },
}
