/**
 * ControllerRevisions: the templates that a workload has had, so that it can tell its pods apart and go back. Each holds a patch
 * that puts its template in the place of another:
 *
 *     { spec: { template: { …, $patch: 'replace' } } }
 */
import type { Draft, ResourceClient } from '../../client/client.ts'
import type { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import { meansTheSame } from '../../kinds/rules/compare.ts'
import { PodTemplateSpec } from '../../kinds/rules/pod/spec.ts'
import { compareText } from '../../lib/go-text.ts'
import { copyJson, isObject } from '../../lib/json-value.ts'
import { fillDefaults } from '../../schema/defaults.ts'
import type { Envelope } from '../../schema/object-meta.ts'
import { controllerReference } from '../pods/pod-template.ts'

/** The label of pods that says which revision they are of. */
export const POD_REVISION_LABEL = 'controller-revision-hash'

/** The template that a revision holds; undefined when it holds something else. */
export function templateOf({ data }: Pick<ControllerRevision, 'data'>): PodTemplateSpec | undefined {
  const template = (data as { spec?: { template?: unknown } } | null)?.spec?.template
  if (!isObject(template)) return undefined
  const { $patch: _, ...held } = template
  return { metadata: {}, spec: {}, ...held } as PodTemplateSpec
}

/** Whether a revision holds a template with all its fields. */
export function holdsWholeTemplate(revision: ControllerRevision, template: PodTemplateSpec): boolean {
  const held = templateOf(revision)
  return held !== undefined && meansTheSame(PodTemplateSpec, held, template)
}

/** Whether a revision holds a template, though fields that came later may have no value in it. */
export function holdsTemplate(revision: ControllerRevision, template: PodTemplateSpec): boolean {
  const held = templateOf(revision)
  if (!held) return false
  if (meansTheSame(PodTemplateSpec, held, template)) return true
  const filled = copyJson(held)
  fillDefaults(PodTemplateSpec, filled)
  return meansTheSame(PodTemplateSpec, filled, template)
}

/** Earlier revisions first. */
export function byRevision(a: ControllerRevision, b: ControllerRevision): number {
  return (
    Number(a.revision) - Number(b.revision) ||
    compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    compare(a.metadata.name, b.metadata.name)
  )
}

const compare = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0)

export const maxRevision = (revisions: readonly ControllerRevision[]): number =>
  revisions.reduce((max, { revision }) => Math.max(max, Number(revision)), 0)

export type Snapshot = {
  readonly template: PodTemplateSpec
  readonly revision: number
  /** Tells this template from others: the end of the name, and the value of a label. */
  readonly hash: string
  readonly hashLabel: string
}

/** As much of the name of the owner as leaves room for a hash. */
const MAX_PREFIX_LENGTH = 223

/** A new revision of a workload, with the labels of its template and its own annotations. */
export function revisionFor(owner: Envelope, { template, revision, hash, hashLabel }: Snapshot): Draft<ControllerRevision> {
  const { name = '', namespace, annotations } = owner.metadata
  return {
    metadata: {
      name: `${name.slice(0, MAX_PREFIX_LENGTH)}-${hash}`,
      namespace,
      labels: { ...template.metadata.labels, [hashLabel]: hash },
      ...(annotations && { annotations: { ...annotations } }),
      ownerReferences: [controllerReference(owner)],
    },
    data: sorted({ spec: { template: { ...template, $patch: 'replace' } } }),
    revision,
  } as Draft<ControllerRevision>
}

/** The same with keys in their order: Kubernetes' controllers compare the text of a revision with that of a template. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.sort(([a], [b]) => compareText(a, b)).map(([key, member]) => [key, sorted(member)]))
}

/** Creates a revision, or finds the one that holds the same template already. Undefined when its name is another's: a collision. */
export async function createRevision(
  revisions: ResourceClient<ControllerRevision>,
  draft: Draft<ControllerRevision>,
  template: PodTemplateSpec,
): Promise<ControllerRevision | undefined> {
  const created = await revisions.create(draft)
  if (created) return created.object
  const { namespace = '', name = '' } = draft.metadata ?? {}
  const found = revisions.get({ namespace, name })
  return found && holdsWholeTemplate(found, template) ? found : undefined
}
