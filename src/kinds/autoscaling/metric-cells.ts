/** Metrics as a table cell shows them: what was measured, and what is aimed at. */
import type { MetricSpec, MetricStatus } from './metric-shapes.ts'

const SHOWN = 2
const UNKNOWN = '<unknown>'

/** The first metrics, each with the status at the same place. */
export function metricsCell(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return '<none>'
  const shown = specs.slice(0, SHOWN).map((spec, i) => metricText(spec, statuses[i]))
  const more = specs.length > SHOWN ? ` + ${specs.length - SHOWN} more...` : ''
  return shown.join(', ') + more
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case 'External':
      return valueText(spec.external?.target, status?.external?.current)
    case 'Object':
      return valueText(spec.object?.target, status?.object?.current)
    case 'Pods':
      return `${status?.pods ? (status.pods.current.averageValue ?? NOTHING) : UNKNOWN}/${spec.pods?.target.averageValue ?? NOTHING}`
    case 'Resource':
      return resourceText(spec.resource, status?.resource?.current)
    case 'ContainerResource':
      return resourceText(spec.containerResource, status?.containerResource?.current)
    default:
      return '<unknown type>'
  }
}

const NOTHING = '<nil>'

type Aim = { readonly value?: string; readonly averageValue?: string; readonly averageUtilization?: number }

function valueText(target: Aim = {}, current: Aim | undefined): string {
  if (target.averageValue !== undefined) return `${current?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`
  return `${current ? (current.value ?? NOTHING) : UNKNOWN}/${target.value ?? NOTHING}`
}

function resourceText(source: { readonly name: string; readonly target: Aim } | undefined, current: Aim | undefined): string {
  const { name = '', target = {} } = source ?? {}
  if (target.averageValue !== undefined) return `${name}: ${current ? (current.averageValue ?? NOTHING) : UNKNOWN}/${target.averageValue}`
  const percent = (value: number | undefined, otherwise: string) => (value === undefined ? otherwise : `${value}%`)
  return `${name}: ${percent(current?.averageUtilization, UNKNOWN)}/${percent(target.averageUtilization, '<auto>')}`
}
