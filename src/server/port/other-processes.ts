/** The other processes of a server, as parts of the port see them. */
import type { OtherProcesses } from '../../http/other-processes.ts'
import type { Siblings } from '../processes/siblings.ts'

export const otherProcesses = (siblings: Siblings): OtherProcesses => ({
  ask: async (topic, body) => (await siblings.ask(topic, body)).flatMap(answer => (answer.body === undefined ? [] : [answer.body])),
  answer: (topic, answering) => siblings.answer(topic, answering),
})
