/** PodTemplate stores a pod template as an object. */
import { formatLabels } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { refTo } from '../../schema/refs.ts'
import { dropDisabledTemplateFields } from '../rules/pod/features.ts'
import { gatedPodOptions, podOptionsFor } from '../rules/pod/ratchet-rules.ts'
import { PodTemplateSpec } from '../rules/pod/spec.ts'
import { validatePodTemplateSpec } from '../rules/pod/spec-rules.ts'
import { warnAboutPodTemplate } from '../rules/pod/warnings.ts'

export const PodTemplate = defineKind({
  group: '',
  version: 'v1',
  kind: 'PodTemplate',
  scope: 'Namespaced',
  names: { plural: 'podtemplates' },
  doc: 'A template of pods.',
  fields: { template: [2, PodTemplateSpec.orEmpty(), 'The template of the pods.'] },
  generation: ({ template }) => template,

  prepareForCreate: ({ template }, { gate }) => dropDisabledTemplateFields(template, undefined, gate),
  prepareForUpdate: ({ template }, old, { gate }) => dropDisabledTemplateFields(template, old.template, gate),
  validate: ({ template }, at, { old, gate }) =>
    validatePodTemplateSpec(template, at.template, podOptionsFor(old?.template, gatedPodOptions(gate))),
  deletion: { returns: 'object' },
  warn: (o, old) => (old && o.metadata.generation === old.metadata.generation ? [] : warnAboutPodTemplate(o.template, refTo(o).template)),

  columns: {
    Containers: [
      'string',
      o =>
        containersOf(o.template)
          .map(({ name }) => name)
          .join(','),
      'Names of each container in the template.',
    ],
    Images: [
      'string',
      o =>
        containersOf(o.template)
          .map(({ image = '' }) => image)
          .join(','),
      'Images referenced by each container in the template.',
    ],
    'Pod Labels': ['string', o => formatLabels(o.template.metadata.labels), 'The labels for the pod template.'],
  },
})

/** An object of the kind PodTemplate. */
export type PodTemplate = ObjectOf<typeof PodTemplate>

const containersOf = ({ spec }: PodTemplateSpec) => spec.containers ?? []
