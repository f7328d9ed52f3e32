/** The other processes of a server, for parts that answer for all of them. */
export interface OtherProcesses {
  /** The answers of those that have one. */
  ask(topic: string, body: string): Promise<readonly string[]>
  answer(topic: string, answering: (body: string) => string): void
}
