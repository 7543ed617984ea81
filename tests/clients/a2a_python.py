"""The A2A project's own Python SDK, 1.x or 0.3, as installed: card, question, call, confirmation, later answer, cancel,
errors. Usage: a2a_python.py URL KEY FARE"""

import asyncio
import importlib.metadata
import sys
import uuid

import httpx

URL, KEY, FARE = sys.argv[1:]
VERSION = importlib.metadata.version("a2a-sdk")
OLD = VERSION.startswith("0.")


class Agent:
    """What both versions of the SDK have in common. States are those of 0.3."""

    def __init__(self, client):
        self.client = client

    async def send(self, parts, task=None):
        """Sends a message; gives its parts, or the task."""
        async for event in self.client.send_message(self.message(parts, task)):
            return self.result(event)


class Old(Agent):
    @staticmethod
    async def connect(http):
        from a2a.client import ClientConfig, ClientFactory

        return Old(await ClientFactory.connect(URL, client_config=ClientConfig(httpx_client=http, streaming=False)))

    def message(self, parts, task):
        from a2a.types import DataPart, Message, Part, Role, TextPart

        made = [Part(root=TextPart(text=part) if isinstance(part, str) else DataPart(data=part)) for part in parts]
        about = {"task_id": task.id, "context_id": task.context_id} if task else {}
        return Message(message_id=uuid.uuid4().hex, role=Role.user, parts=made, **about)

    def result(self, event):
        return event[0] if isinstance(event, tuple) else [part.root for part in event.parts]

    async def get(self, task_id):
        from a2a.types import TaskQueryParams

        return await self.client.get_task(TaskQueryParams(id=task_id))

    async def cancel(self, task_id):
        from a2a.types import TaskIdParams

        return await self.client.cancel_task(TaskIdParams(id=task_id))

    def state(self, task):
        return task.status.state.value

    def texts(self, parts):
        return [part.text for part in (getattr(part, "root", part) for part in parts) if part.kind == "text"]

    def data(self, parts):
        return [part.data for part in (getattr(part, "root", part) for part in parts) if part.kind == "data"]

    def code(self, error):
        return getattr(getattr(error, "error", None), "code", None)


class New(Agent):
    CODES = {"TaskNotFoundError": -32001, "TaskNotCancelableError": -32002, "InvalidParamsError": -32602}

    @staticmethod
    async def connect(http):
        from a2a.client import ClientConfig, ClientFactory

        factory = ClientFactory(ClientConfig(httpx_client=http, streaming=False))
        return New(await factory.create_from_url(URL))

    def message(self, parts, task):
        from a2a.helpers.proto_helpers import new_data_part, new_text_part
        from a2a.types import Message, Role, SendMessageRequest

        made = [new_text_part(part) if isinstance(part, str) else new_data_part(part) for part in parts]
        about = {"task_id": task.id, "context_id": task.context_id} if task else {}
        message = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_USER, parts=made, **about)
        return SendMessageRequest(message=message)

    def result(self, event):
        return event.task if event.HasField("task") else list(event.message.parts)

    async def get(self, task_id):
        from a2a.types import GetTaskRequest

        return await self.client.get_task(GetTaskRequest(id=task_id))

    async def cancel(self, task_id):
        from a2a.types import CancelTaskRequest

        return await self.client.cancel_task(CancelTaskRequest(id=task_id))

    def state(self, task):
        from a2a.types import TaskState

        return TaskState.Name(task.status.state).removeprefix("TASK_STATE_").lower().replace("_", "-")

    def texts(self, parts):
        return [part.text for part in parts if part.HasField("text")]

    def data(self, parts):
        from google.protobuf.json_format import MessageToDict

        return [MessageToDict(part.data) for part in parts if part.HasField("data")]

    def code(self, error):
        return self.CODES.get(type(error).__name__)


async def refused(agent, call):
    """The code of the error that a call raises."""
    try:
        answered = await call
    except Exception as error:
        return agent.code(error) or str(error)
    raise AssertionError(f"no error: {answered}")


async def ended(agent, task):
    for _ in range(100):
        task = await agent.get(task.id)
        if agent.state(task) != "working":
            return task
        await asyncio.sleep(0.05)
    raise AssertionError(f"still working: {task}")


async def visit():
    kind = Old if OLD else New
    async with httpx.AsyncClient() as http, httpx.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}) as known:
        stranger, agent = await kind.connect(http), await kind.connect(known)

        # A question in words, and a call of a capability.
        for _ in range(60):  # until the pages were read
            answer = await stranger.send(["Where would you like to go?"])
            if any("sources" in data for data in stranger.data(answer)):
                break
            await asyncio.sleep(0.5)
        assert stranger.texts(answer)[0], answer
        assert stranger.data(answer)[0]["sources"], answer
        search = {"capability": "flight_search", "input": {"origin": "MAD", "destination": "NRT", "max_stops": 2}}
        found = await stranger.send([search])
        assert stranger.data(found)[0]["payload"]["data"]["results"], found

        # An action needs a credential, then a person's yes; it acts once.
        hold = {"capability": "bookings.hold", "input": {"fare_id": FARE}}
        assert "401" in str(await refused(stranger, stranger.send([hold])))
        asked = await agent.send([hold])
        assert agent.state(asked) == "input-required", asked
        assert FARE in agent.texts(asked.status.message.parts)[0], asked
        assert agent.state(await agent.get(asked.id)) == "input-required"
        assert await refused(stranger, stranger.get(asked.id)) == -32001, "it is somebody else's"
        done = await agent.send([{"confirmed": True}], asked)
        assert agent.state(done) == "completed" and done.id == asked.id, done
        assert "held until" in agent.texts(done.artifacts[0].parts)[0], done
        assert agent.texts((await agent.get(done.id)).artifacts[0].parts) == agent.texts(done.artifacts[0].parts)
        assert await refused(agent, agent.cancel(done.id)) == -32002

        # No, and cancel.
        declined = await agent.send(["no"], await agent.send([hold]))
        assert agent.state(declined) == "canceled", declined
        canceled = await agent.cancel((await agent.send([hold])).id)
        assert agent.state(canceled) == "canceled", canceled

        # An answer that comes later, and a question to a person that is withdrawn.
        later = await agent.send([{"capability": "fares_report", "input": {"origin": "MAD", "destination": "NRT"}}])
        assert agent.state(later) in ("working", "completed"), later
        report = await ended(agent, later)
        assert agent.state(report) == "completed" and agent.texts(report.artifacts[0].parts)[0], report
        person = await agent.send([{"capability": "group_quote", "input": {"seats": 10}}])
        assert agent.state(person) == "working", person
        assert agent.state(await agent.cancel(person.id)) == "canceled"

        # Errors.
        assert await refused(agent, agent.get("0" * 32)) == -32001
        assert await refused(agent, agent.send([{"capability": "nothing"}])) == -32602
        print(f"a2a-sdk {VERSION}: asks, calls, confirms, declines, waits, cancels")


asyncio.run(visit())
