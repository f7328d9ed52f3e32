/** Namespace divides a cluster into spaces within which names are unique. */
import { isQualifiedName, nameIsDNSLabel } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { validateFinalizerDomain } from '../../schema/meta-rules.ts'
import { type FieldError, invalid, invalidEach, type Ref, withValue } from '../../schema/refs.ts'
import { atomic, keyed, message, string, time } from '../../schema/types.ts'

const NamespaceCondition = message('NamespaceCondition', {
  type: [1, string.always(), 'The type of the condition.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  lastTransitionTime: [4, time.always(), 'When the status last changed.'],
  reason: [5, string, 'A CamelCase reason for the last transition.'],
  message: [6, string, 'The same for people.'],
})

const NamespaceSpec = message('NamespaceSpec', {
  finalizers: [1, atomic(string), 'Names that must be removed before the namespace is removed, once its content is deleted.'],
})

const NamespaceStatus = message('NamespaceStatus', {
  phase: [1, string.listed('Active', 'Terminating').default('Active'), 'Active, or Terminating once deletion is requested.'],
  conditions: [2, keyed(NamespaceCondition, 'type').mergedBy('type'), 'Conditions that block the deletion.'],
})

/** The label with the namespace's own name, so that selectors can name it. */
const NAME_LABEL = 'kubernetes.io/metadata.name'
/** The finalizer that guards the content of the namespace. */
const CONTENT_FINALIZER = 'kubernetes'

export const Namespace = defineKind({
  group: '',
  version: 'v1',
  kind: 'Namespace',
  scope: 'Cluster',
  names: { plural: 'namespaces', short: ['ns'] },
  doc: 'A space within which names are unique.',
  spec: NamespaceSpec,
  status: NamespaceStatus,
  name: nameIsDNSLabel,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],

  defaults: labelWithName,
  prepareForCreate(o) {
    labelWithName(o)
    o.status = { phase: 'Active' }
    const finalizers = o.spec.finalizers ?? []
    if (!finalizers.includes(CONTENT_FINALIZER)) o.spec.finalizers = [...finalizers, CONTENT_FINALIZER]
  },
  prepareForUpdate(o, old) {
    if (old.spec.finalizers) o.spec.finalizers = old.spec.finalizers
    else delete o.spec.finalizers
  },
  *validate({ spec: { finalizers } }, { spec: at }) {
    for (const name of finalizers ?? []) yield* validateFinalizer(name, withValue(at.finalizers, name))
  },

  deletion: {
    returns: 'object',
    hasSpecFinalizers: true,
    onMark(o) {
      o.status.phase = 'Terminating'
    },
  },

  subresources: {
    status: {
      *validate({ metadata, status }, { status: at }) {
        const dying = metadata.deletionTimestamp !== undefined
        // The capital letter is that of kube-apiserver.
        const phase = withValue((at as unknown as Record<string, Ref<string>>)['Phase']!, status.phase)
        if (!dying && status.phase !== 'Active') yield invalid(phase, "may only be 'Active' if `deletionTimestamp` is empty")
        if (dying && status.phase !== 'Terminating') yield invalid(phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
      },
    },
    updates: {
      finalize: {
        verbs: ['update'],
        merge: (sent, stored) => ({ ...sent, status: stored.status }),
        *validate({ spec: { finalizers } }, { spec: at }) {
          for (const [i, name] of (finalizers ?? []).entries()) yield* validateFinalizer(name, at.finalizers[i]!)
        },
      },
    },
  },

  selectable: { 'status.phase': o => o.status.phase },

  columns: {
    Status: ['string', o => o.status.phase, 'The status of the namespace'],
    Age: age,
  },
})

/** An object of the kind Namespace. */
export type Namespace = ObjectOf<typeof Namespace>

function labelWithName({ metadata }: { metadata: { name?: string; labels?: Record<string, string> } }): void {
  if (metadata.name) metadata.labels = { ...metadata.labels, [NAME_LABEL]: metadata.name }
}

function* validateFinalizer(name: string, at: Ref<string>): Iterable<FieldError> {
  yield* invalidEach(at, isQualifiedName(name))
  yield* validateFinalizerDomain(name, at)
}
