/** Common parts of volumes and claims: their class, and access modes in tables. */
import { getOwn } from '../../lib/json-value.ts'

/** The annotation that held the class before there was a field. */
export const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class'
export const OLD_CLASS_ADVICE = 'deprecated since v1.8; use "storageClassName" attribute instead'

type Classed = { metadata: { annotations?: Record<string, string> }; spec: { storageClassName?: string } }

/** The class of a volume or claim, which may be empty; undefined when it is not set. */
export const classOf = ({ metadata, spec }: Classed): string | undefined =>
  getOwn(metadata.annotations ?? {}, CLASS_ANNOTATION) ?? spec.storageClassName

const SHORT = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
] as const

/** Access modes in tables: `RWO,ROX`. */
export const formatAccessModes = (modes: readonly string[] = []): string =>
  SHORT.flatMap(([mode, short]) => (modes.includes(mode) ? [short] : [])).join(',')
