/** What volumes and claims have in common: how their class is named, and how their use is written in tables. */
import { getOwn } from '../../lib/json-value.ts'

/** Where the class stood before it had a field. */
export const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class'
export const OLD_CLASS_ADVICE = 'deprecated since v1.8; use "storageClassName" attribute instead'

type Classed = { metadata: { annotations?: Record<string, string> }; spec: { storageClassName?: string } }

/** The class of a volume or claim; undefined when none is named, not even the empty one. */
export const classOf = ({ metadata, spec }: Classed): string | undefined =>
  getOwn(metadata.annotations ?? {}, CLASS_ANNOTATION) ?? spec.storageClassName

const SHORT = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
] as const

/** Access modes as tables show them: `RWO,ROX`. */
export const formatAccessModes = (modes: readonly string[] = []): string =>
  SHORT.flatMap(([mode, short]) => (modes.includes(mode) ? [short] : [])).join(',')
