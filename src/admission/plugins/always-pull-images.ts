/** AlwaysPullImages: every container pulls its image, so that credentials are checked each time. */
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { type FieldError, refTo, unsupported } from '../../schema/refs.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import { forbidden, podSpecOf } from '../refusal.ts'

const ALWAYS = 'Always'
const LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const
type Pulling = { image?: string; imagePullPolicy?: string }

const containersOf = (spec: PodSpec): Pulling[] => LISTS.flatMap(list => (spec[list] ?? []) as Pulling[])

export const alwaysPullImages: Plugin = {
  name: 'AlwaysPullImages',
  mutate(attributes) {
    const spec = specWithNewImages(attributes)
    if (!spec) return
    for (const container of containersOf(spec)) container.imagePullPolicy = ALWAYS
    for (const { image } of spec.volumes ?? []) if (image) image.pullPolicy = ALWAYS
  },
  validate(attributes) {
    const spec = specWithNewImages(attributes)
    if (!spec) return
    const [first, ...more] = [...wrongPolicies(spec)].map(({ field, message }) => forbidden(attributes, `${field}: ${message}`))
    // Several are an aggregate, which is no status of its own in Kubernetes.
    if (first && more.length > 0) throw new StatusError(500, '', `[${[first, ...more].map(({ message }) => message).join(', ')}]`)
    if (first) throw first
  },
}

/** The spec of a pod that is created, or changed to run an image that it did not run before. */
function specWithNewImages(attributes: Attributes): PodSpec | undefined {
  const spec = podSpecOf(attributes)
  if (!spec || attributes.operation === 'CREATE') return spec
  const known = new Set(containersOf(attributes.oldObject!['spec'] as PodSpec).map(({ image }) => image))
  return containersOf(spec).some(({ image }) => !known.has(image)) ? spec : undefined
}

function* wrongPolicies(spec: PodSpec): Iterable<FieldError> {
  const at = refTo({ spec } as { spec: PodSpec }).spec
  for (const list of LISTS)
    for (const [i, { imagePullPolicy }] of ((spec[list] ?? []) as Pulling[]).entries())
      if (imagePullPolicy !== ALWAYS) yield unsupported(at[list][i]!.imagePullPolicy, ALWAYS)
  for (const [i, { image }] of (spec.volumes ?? []).entries())
    if (image && image.pullPolicy !== ALWAYS) yield unsupported(at.volumes[i]!.image.pullPolicy, ALWAYS)
}
