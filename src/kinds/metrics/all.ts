/** The kinds that simulated nodes serve, as a metrics server does for real ones. */
import type { Kind } from '../../schema/kind.ts'
import { NodeMetrics } from './nodemetrics.ts'
import { PodMetrics } from './podmetrics.ts'

export const metricsKinds: readonly Kind<any>[] = [NodeMetrics, PodMetrics]
