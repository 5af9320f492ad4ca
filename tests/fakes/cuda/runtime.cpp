// A CUDA runtime and driver that are none, for CuPy's compiled modules: device memory is the host's, streams are queues.
//
// Every function sim_X stands in for X of cupy_backends.cuda.api.runtime or .driver; tests/fakes/simulation.py puts them in place.
// All run under Python's lock. What is issued to a stream runs by the schedule: LATE when the host waits for it, only what this
// needs; EAGER at once; RANDOM a seeded mixture. So a forgotten wait or memory freed too early gives a wrong result, every time.
#include <Python.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

using Address = intptr_t;
using Work = std::function<void()>;
#define API extern "C"
static const char *wrong;  // what a kernel has done that CUDA does in its own way, or not at all, since the host last waited
#include "launches.h"

enum Schedule { LATE, EAGER, RANDOM };
enum Status { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, BAD_DEVICE = 101, BAD_HANDLE = 400, ILLEGAL_ADDRESS = 700, NOT_READY = 600, CAPTURING = 900, BROKEN_CAPTURE = 901, UNJOINED_CAPTURE = 904, OUTSIDE_CAPTURE = 905 };
const int FRESH = 0xCB, FREED = 0xDD, STAGING = 0xCA;
const size_t MEMORY = size_t(1) << 30;  // of a device

// ------------------------------------------------------------------------------------------------------------ streams

struct Stream;
struct Event {
    long recorded = 0, reached = 0;
    int device = 0;
    Stream *stream = nullptr;
    struct Graph *captured = nullptr;  // what was captured when it was last recorded: then it will never be reached
    std::vector<size_t> tails;         // and the steps of that which it stands for
};
struct Item {  // work, or a mark to wait for, or a mark that is reached
    Work work;
    std::shared_ptr<Event> awaited, marked;
    long number = 0;
};
struct Step {
    Work work;
    std::vector<size_t> needs;  // steps before it that have to be done
    struct Stream *stream;      // on which it was captured
};
struct Graph {
    std::vector<Step> steps;
    int device = 0;
    bool broken = false;  // something happened during capture that CUDA forbids there
    struct Stream *origin = nullptr;
};
struct Stream {
    std::deque<Item> queue;
    bool blocking = true;
    int device = 0;
    Graph *capture = nullptr;
    std::vector<size_t> tails;  // of what is captured: the steps that the next one comes after
};

static thread_local int current;  // device
static Stream legacy;
static std::map<Address, Stream *> streams;
static std::vector<Stream *> in_order;  // of their creation
static std::map<Address, std::shared_ptr<Event>> events;
static int schedule = LATE;
static uint64_t random_state = 1, mixture = 0;
static long launches, copies, synchronisations, allocations, legacy_uses, waits, graph_launches, captured;
static thread_local int capturing;  // streams that this thread captures
static long ignored_wait = -1;  // the number of a wait that is left out: tests look whether anyone notices
static int failing_status = 0;  // what every launch reports from now on, as a sticky error of a device does

static Stream *stream_of(Address at) {
    if (at >= 0 && at <= 2) return &legacy;
    auto found = streams.find(at);
    return found == streams.end() ? nullptr : found->second;
}

static void run_until(Stream *stream, const Event *mark, long number);

static void run_item(Item item) {
    if (item.awaited && item.awaited->reached < item.number && item.awaited->stream) run_until(item.awaited->stream, item.awaited.get(), item.number);
    if (item.work) item.work();
    if (item.marked && item.marked->reached < item.number) item.marked->reached = item.number;
}

static void run_until(Stream *stream, const Event *mark, long number) {
    while (!stream->queue.empty() && !(mark && mark->reached >= number)) {
        Item item = stream->queue.front();
        stream->queue.pop_front();
        run_item(item);
    }
}

static void finish(Stream *stream) { run_until(stream, nullptr, 0); }

static void finish_all() {
    for (auto &entry : streams) finish(entry.second);
    finish(&legacy);
}

static void finish_blocking() {
    for (auto &entry : streams)
        if (entry.second->blocking) finish(entry.second);
}

static unsigned draw(unsigned n) {
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return unsigned(random_state >> 33) % n;
}

// How slow a stream is in a mixture, from 0 to 4, where it runs only when somebody waits: so some are far ahead of others.
static unsigned slowness(size_t number) {
    uint64_t x = (mixture + 1) * 0x9E3779B97F4A7C15ull ^ (number + 1) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 31)) * 0x94D049BB133111EBull;
    return unsigned(x >> 40) % 5;
}

static void advance_some() {  // a few items of a stream, any stream that has some
    std::vector<size_t> busy;
    for (size_t k = 0; k < in_order.size(); ++k)
        if (!in_order[k]->queue.empty()) busy.push_back(k);
    if (busy.empty()) return;
    const size_t number = busy[draw(unsigned(busy.size()))];
    if (draw(4) < slowness(number)) return;
    Stream *stream = in_order[number];
    for (unsigned k = draw(4); k > 0 && !stream->queue.empty(); --k) {
        Item item = stream->queue.front();
        stream->queue.pop_front();
        run_item(item);
    }
}

static void issue(Stream *stream, Item item) {
    if (stream->capture) {
        if (item.work) {
            stream->capture->steps.push_back({item.work, stream->tails, stream});
            stream->tails = {stream->capture->steps.size() - 1};
        }
        return;
    }
    if (stream == &legacy) {
        ++legacy_uses;
        finish_blocking();
    } else if (stream->blocking) {
        finish(&legacy);
    }
    stream->queue.push_back(item);
    if (schedule == EAGER) finish(stream);
    if (schedule == RANDOM) advance_some();
}

static PyObject *runtime_module;

static PyObject *none() { Py_RETURN_NONE; }

API void __ubsan_handle_float_cast_overflow(void *, void *) {
    wrong = "a kernel casts a float to an integer that it does not fit, which CUDA does in its own way: use tf_cast";
}

static PyObject *waited() {
    if (!wrong) return none();
    PyErr_Format(PyExc_RuntimeError, "simulation: %s", wrong);
    wrong = nullptr;
    return nullptr;
}

static PyObject *fail(int status) {
    PyObject *type = PyObject_GetAttrString(runtime_module, "CUDARuntimeError");
    PyObject *error = PyObject_CallFunction(type, "i", status);
    if (error) PyErr_SetObject(type, error);
    Py_XDECREF(error);
    Py_DECREF(type);
    return nullptr;
}

static bool is_used, is_forked;  // in a child that was forked after its parent had used CUDA it refuses every call

API void begin_child() { is_forked = is_used; }

// What CUDA forbids while streams are captured: their captures give no graph.
static PyObject *refuse(Stream *stream, int status = CAPTURING) {
    if (stream) stream->capture->broken = true;
    else
        for (auto &entry : streams)
            if (entry.second->capture) entry.second->capture->broken = true;
    return fail(status);
}

static bool any_capture() {
    for (auto &entry : streams)
        if (entry.second->capture) return true;
    return false;
}

static bool is_captured(const Graph *graph) {
    for (auto &entry : streams)
        if (entry.second->capture == graph) return true;
    return false;
}

API Address sim_streamCreate(int) { return 0; }  // a legacy-blocking stream is never asked for

static Address new_stream(bool blocking) {
    if (is_forked) return fail(NOT_INITIALIZED), 0;
    auto *stream = new Stream;
    stream->blocking = blocking;
    stream->device = current;
    streams[Address(stream)] = stream;
    in_order.push_back(stream);
    return Address(stream);
}

API Address sim_streamCreateWithFlags(unsigned flags, int) { return new_stream(!(flags & 1)); }
API Address sim_streamCreateWithPriority(unsigned flags, int, int) { return new_stream(!(flags & 1)); }

API PyObject *sim_streamDestroy(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    auto found = streams.find(at);
    if (found != streams.end()) {
        finish(found->second);
        in_order.erase(std::find(in_order.begin(), in_order.end(), found->second));
        streams.erase(found);
    }
    return none();
}

API PyObject *sim_streamSynchronize(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    Stream *stream = stream_of(at);
    if (!stream) return fail(BAD_HANDLE);
    if (stream->capture) return refuse(stream);
    if (failing_status) return fail(failing_status);
    ++synchronisations;
    if (stream == &legacy) ++legacy_uses, finish_blocking();
    finish(stream);
    return waited();
}

API PyObject *sim_streamQuery(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    Stream *stream = stream_of(at);
    return stream->capture ? refuse(stream) : PyLong_FromLong(stream->queue.empty() ? 0 : NOT_READY);
}
API unsigned sim_streamGetFlags(Address at, int) { return !stream_of(at)->blocking; }
API int sim_streamGetPriority(Address, int) { return 0; }

API PyObject *sim_deviceSynchronize(int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    if (any_capture()) return refuse(nullptr);
    if (failing_status) return fail(failing_status);
    ++synchronisations;
    finish_all();
    return waited();
}

API PyObject *sim_launchHostFunc(Address at, PyObject *function, Address argument, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    Py_INCREF(function);
    issue(stream_of(at), {[=] {
        PyObject *result = PyObject_CallFunction(function, "n", Py_ssize_t(argument));
        if (!result) PyErr_WriteUnraisable(function);
        Py_XDECREF(result);
    }});
    return none();
}

// ------------------------------------------------------------------------------------------------------------- events

static Address new_event() {
    if (is_forked) return fail(NOT_INITIALIZED), 0;
    auto event = std::make_shared<Event>();
    event->device = current;
    events[Address(event.get())] = event;
    return Address(event.get());
}

API Address sim_eventCreate(int) { return new_event(); }
API Address sim_eventCreateWithFlags(unsigned, int) { return new_event(); }
API PyObject *sim_eventDestroy(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    events.erase(at);
    return none();
}

API PyObject *sim_eventRecord(Address at, Address stream, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    Stream *target = stream_of(stream);
    if (!target) return fail(BAD_HANDLE);
    auto event = events.at(at);
    if (target != &legacy && event->device != target->device) return fail(BAD_HANDLE);
    event->stream = target;
    event->captured = target->capture;
    event->tails = target->tails;
    Item item;
    item.marked = event;
    item.number = ++event->recorded;
    issue(target, item);
    return none();
}

API PyObject *sim_streamWaitEvent(Address stream, Address at, int, void *) {
    if (is_forked) return fail(NOT_INITIALIZED);
    Item item;
    item.awaited = events.at(at);
    item.number = item.awaited->recorded;
    Stream *target = stream_of(stream);
    Graph *graph = item.awaited->captured;
    if (target->capture && !graph) return refuse(target, OUTSIDE_CAPTURE);
    if (graph && !is_captured(graph)) return refuse(nullptr, OUTSIDE_CAPTURE);
    if (graph && target->capture && target->capture != graph) return refuse(target, OUTSIDE_CAPTURE);
    if (waits++ == ignored_wait) return none();
    if (!graph) {
        issue(target, item);
        return none();
    }
    if (!target->capture) target->tails.clear();  // it joins the capture
    target->capture = graph;
    for (size_t step : item.awaited->tails)
        if (std::find(target->tails.begin(), target->tails.end(), step) == target->tails.end()) target->tails.push_back(step);
    return none();
}

API PyObject *sim_eventQuery(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    auto &event = events.at(at);
    if (event->captured) return refuse(nullptr);
    return PyLong_FromLong(event->reached >= event->recorded ? 0 : NOT_READY);
}

API PyObject *sim_eventSynchronize(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    if (failing_status) return fail(failing_status);
    auto event = events.at(at);
    if (event->captured) return refuse(nullptr);
    ++synchronisations;
    if (event->stream && event->reached < event->recorded) run_until(event->stream, event.get(), event->recorded);
    return waited();
}

API float sim_eventElapsedTime(Address, Address, int) { return 0.001f; }

// ------------------------------------------------------------------------------------------------------------- graphs

API int sim_streamIsCapturing(Address at, int) {
    Stream *stream = stream_of(at);
    return stream && stream->capture;
}

API PyObject *sim_streamBeginCapture(Address at, int, void *) {
    if (is_forked) return fail(NOT_INITIALIZED);
    Stream *stream = stream_of(at);
    if (!stream || stream == &legacy || stream->blocking) return fail(CAPTURING);
    if (stream->capture) return refuse(stream);
    stream->capture = new Graph{{}, stream->device, false, stream};
    stream->tails.clear();
    ++capturing;
    return none();
}

// Whether all steps come before some of them.
static bool are_joined(const Graph &graph, std::vector<size_t> waiting) {
    std::vector<bool> seen(graph.steps.size());
    while (!waiting.empty()) {
        const size_t step = waiting.back();
        waiting.pop_back();
        if (seen[step]) continue;
        seen[step] = true;
        waiting.insert(waiting.end(), graph.steps[step].needs.begin(), graph.steps[step].needs.end());
    }
    return std::find(seen.begin(), seen.end(), false) == seen.end();
}

API Address sim_streamEndCapture(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED), 0;
    Stream *stream = stream_of(at);
    Graph *graph = stream->capture;
    if (!graph || graph->origin != stream) return fail(INVALID_VALUE), 0;
    const int status = graph->broken ? BROKEN_CAPTURE : are_joined(*graph, stream->tails) ? 0 : UNJOINED_CAPTURE;
    for (auto &entry : streams)
        if (entry.second->capture == graph) entry.second->capture = nullptr;
    --capturing;
    if (!status) return Address(graph);
    delete graph;
    return fail(status), 0;
}

// An order in which a graph's steps may run: as issued if the schedule is EAGER, what was issued last as early as it may if LATE. If it is
// RANDOM some of the streams on which it was captured are mostly ahead of others, other ones each time.
static std::vector<size_t> order_of(const Graph &graph) {
    std::vector<size_t> left(graph.steps.size()), ready, order;
    std::vector<std::vector<size_t>> after(graph.steps.size());
    std::map<Stream *, unsigned> speed;
    for (size_t k = 0; k < graph.steps.size(); ++k) {
        left[k] = graph.steps[k].needs.size();
        for (size_t n : graph.steps[k].needs) after[n].push_back(k);
        if (!left[k]) ready.push_back(k);
        if (!speed.count(graph.steps[k].stream)) speed[graph.steps[k].stream] = draw(1000);
    }
    while (!ready.empty()) {
        std::sort(ready.begin(), ready.end());
        size_t at = schedule == LATE ? ready.size() - 1 : 0;
        if (schedule == RANDOM && draw(16) == 0) at = draw(unsigned(ready.size()));
        else if (schedule == RANDOM)
            for (size_t k = 1; k < ready.size(); ++k)
                if (speed[graph.steps[ready[k]].stream] > speed[graph.steps[ready[at]].stream]) at = k;
        const size_t step = ready[at];
        ready.erase(ready.begin() + long(at));
        order.push_back(step);
        for (size_t k : after[step])
            if (!--left[k]) ready.push_back(k);
    }
    return order;
}

API Address sim_graphInstantiate(Address graph, int) {
    if (is_forked) return fail(NOT_INITIALIZED), 0;
    return Address(new Graph(*(Graph *)graph));
}

API PyObject *sim_graphLaunch(Address at, Address stream, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    auto *graph = (Graph *)at;
    Stream *target = stream_of(stream);
    if (!target || target->device != graph->device) return fail(BAD_HANDLE);
    if (target->capture) return refuse(target);
    if (failing_status) return fail(failing_status);
    ++launches, ++graph_launches;
    for (size_t k : order_of(*graph)) issue(target, {graph->steps[k].work});
    return none();
}

API PyObject *sim_graphUpload(Address, Address, int) { return is_forked ? fail(NOT_INITIALIZED) : none(); }
API PyObject *sim_graphDestroy(Address graph, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    delete (Graph *)graph;
    return none();
}
API PyObject *sim_graphExecDestroy(Address graph, int) {
    if (is_forked) return fail(NOT_INITIALIZED);  // what was launched runs to its end
    delete (Graph *)graph;
    return none();
}

// ------------------------------------------------------------------------------------------------------------ devices

static int device_count;

API int sim_getDevice(int) {
    if (is_forked) return fail(NOT_INITIALIZED), -1;
    return current;
}
API int sim_getDeviceCount(int) {
    if (device_count == 0) return fail(NO_DEVICE), 0;
    if (is_forked) return fail(NOT_INITIALIZED), -1;
    is_used = true;
    return device_count;
}
API PyObject *sim_setDevice(int device, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    if (device < 0 || device >= device_count) return fail(BAD_DEVICE);
    current = device;
    return none();
}
API int sim_driverGetVersion(int) { return 12090; }
API int sim_runtimeGetVersion(int) { return 12090; }
API int sim_deviceCanAccessPeer(int, int, int) { return 0; }
API PyObject *sim_deviceEnablePeerAccess(int, int) { return none(); }
API PyObject *sim__deviceEnsurePeerAccess(int, int) { return none(); }
API PyObject *sim__ensure_context() { return none(); }

API int sim_deviceGetAttribute(int attribute, int, int) {
    switch (attribute) {
        case 1: return 1024;         // threads per block
        case 5: return 2147483647;   // blocks
        case 8: return 49152;        // shared memory per block
        case 10: return 32;          // threads per warp
        case 16: return 132;         // multiprocessors
        case 75: return 9;           // compute capability
        case 76: return 0;
        default: return 1;
    }
}

API PyObject *sim_deviceGetPCIBusId(int device, int) { return PyUnicode_FromFormat("0000:%02d:00.0", device); }
API PyObject *sim_getDeviceProperties(int, int) {
    return Py_BuildValue(
        "{s:y,s:i,s:i,s:i,s:i,s:n}", "name", "simulated", "warpSize", 32, "multiProcessorCount", 132, "major", 9, "minor", 0, "totalGlobalMem", Py_ssize_t(MEMORY));
}

// ------------------------------------------------------------------------------------------------------------- memory

struct Block {
    size_t size;
    int device;
};
static std::map<Address, Block> device_blocks, pinned_blocks;
static std::map<int, size_t> used;

static std::map<Address, Block>::iterator block_of(std::map<Address, Block> &blocks, Address at) {
    auto next = blocks.upper_bound(at);
    if (next == blocks.begin()) return blocks.end();
    auto found = std::prev(next);
    return at < found->first + Address(found->second.size) ? found : blocks.end();
}

static bool is_device(Address at) { return block_of(device_blocks, at) != device_blocks.end(); }
static bool is_pinned(Address at) { return block_of(pinned_blocks, at) != pinned_blocks.end(); }

static Address allocate(std::map<Address, Block> &blocks, size_t size, int pattern) {
    const size_t whole = (size + 511) & ~size_t(511);
    void *memory = aligned_alloc(512, whole);
    memset(memory, pattern, whole);
    blocks[Address(memory)] = {whole, current};
    return Address(memory);
}

API PyObject *sim_memGetInfo(int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    return Py_BuildValue("(nn)", Py_ssize_t(MEMORY - used[current]), Py_ssize_t(MEMORY));
}

API Address sim_malloc(size_t size, int) {
    if (is_forked) return fail(NOT_INITIALIZED), 0;
    if (size == 0) return 0;
    if (size > MEMORY - used[current]) {
        fail(OUT_OF_MEMORY);
        return 0;
    }
    ++allocations;
    const Address at = allocate(device_blocks, size, FRESH);
    used[current] += device_blocks[at].size;
    return at;
}

API PyObject *sim_free(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    if (!at) return none();
    finish_all();  // as cudaFree does
    auto found = device_blocks.find(at);
    if (found == device_blocks.end()) return fail(INVALID_VALUE);
    memset((void *)at, FREED, found->second.size);
    used[found->second.device] -= found->second.size;
    ::free((void *)at);
    device_blocks.erase(found);
    return none();
}

API Address sim_hostAlloc(size_t size, unsigned, int) {
    if (is_forked) return fail(NOT_INITIALIZED), 0;
    return allocate(pinned_blocks, size ? size : 1, STAGING);
}
API PyObject *sim_freeHost(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    finish_all();
    pinned_blocks.erase(at);
    ::free((void *)at);
    return none();
}

static PyObject *copy(Address to, Address from, size_t size, Address at, bool waits) {
    if (is_forked) return fail(NOT_INITIALIZED);
    Stream *stream = stream_of(at);
    if (!stream) return fail(BAD_HANDLE);
    ++(stream->capture ? captured : copies);
    if (stream->capture && ((!is_device(from) && !is_pinned(from)) || (!is_device(to) && !is_pinned(to)))) return refuse(stream);
    if (waits) {
        ++legacy_uses, ++synchronisations;
        finish_blocking();
        finish(&legacy);
        memmove((void *)to, (void *)from, size);
        return none();
    }
    if (!is_device(from) && !is_pinned(from)) {  // pageable memory is read before the call returns
        auto staged = std::make_shared<std::string>((const char *)from, size);
        issue(stream, {[=] { memcpy((void *)to, staged->data(), size); }});
        return none();
    }
    issue(stream, {[=] { memmove((void *)to, (void *)from, size); }});
    if (!is_device(to) && !is_pinned(to)) {  // and written before it returns
        ++synchronisations;
        finish(stream);
        return waited();
    }
    return none();
}

API PyObject *sim_memcpy(Address to, Address from, size_t size, int, int) { return copy(to, from, size, 0, true); }
API PyObject *sim_memcpyAsync(Address to, Address from, size_t size, int, Address at, int) { return copy(to, from, size, at, false); }
API PyObject *sim_memcpyPeer(Address to, int, Address from, int, size_t size, int) { return copy(to, from, size, 0, true); }
API PyObject *sim_memcpyPeerAsync(Address to, int, Address from, int, size_t size, Address at, int) { return copy(to, from, size, at, false); }
API PyObject *sim_memset(Address at, int value, size_t size, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    ++legacy_uses;
    finish_all();
    memset((void *)at, value, size);
    return none();
}
API PyObject *sim_memsetAsync(Address at, int value, size_t size, Address stream, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    issue(stream_of(stream), {[=] { memset((void *)at, value, size); }});
    return none();
}

API PyObject *sim_pointerGetAttributes(Address at, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    PyObject *type = PyObject_GetAttrString(runtime_module, "PointerAttributes");
    auto found = block_of(device_blocks, at);
    const bool device = found != device_blocks.end(), pinned = is_pinned(at);
    const int number = device ? found->second.device : current;
    PyObject *result = PyObject_CallFunction(type, "innI", number, Py_ssize_t(at), Py_ssize_t(pinned ? at : 0), device ? 2u : pinned ? 1u : 0u);
    Py_DECREF(type);
    return result;
}
API int sim_pointerGetMemoryType(Address at, int) { return is_device(at) ? 2 : is_pinned(at) ? 1 : 0; }

// ------------------------------------------------------------------------------------------------------------- driver

// A module is the text's key, a function that and its name: the library that has it is looked up at the first launch.
struct Function {
    std::string key, name;
    void *(*pack)(void **) = nullptr;
    void (*run)(void *, unsigned *, unsigned *, size_t) = nullptr;
};
static bool is_foreign;         // whether a kernel was given memory of another device
static PyObject *locate;        // key to (path of a library, prefix of its names)
static bool gathering = false;  // launch nothing: texts are only collected

API Address sim_moduleLoadData(PyObject *bytes, int) {
    if (is_forked) return fail(NOT_INITIALIZED), 0;
    const char *text = PyBytes_AsString(bytes);
    if (!text) return 0;
    if (capturing) return refuse(nullptr), 0;  // stricter than CUDA: a module loaded in a capture may or may not wait for the device
    if (strncmp(text, "HOST:", 5) == 0) return Address(new std::string(text + 5));
    PyErr_SetString(PyExc_RuntimeError, "simulation: this is a GPU's code, and there is none");
    return 0;
}
API PyObject *sim_moduleUnload(Address, int) { return is_forked ? fail(NOT_INITIALIZED) : none(); }

API Address sim_moduleGetFunction(Address module, PyObject *name, int) {
    if (is_forked) return fail(NOT_INITIALIZED), 0;
    auto *function = new Function;
    function->key = *(std::string *)module;
    function->name = PyUnicode_AsUTF8(name);
    return Address(function);
}

template <class T> static bool look_up(void *library, const std::string &name, T &found) {
    found = (T)dlsym(library, name.c_str());
    if (!found) PyErr_Format(PyExc_RuntimeError, "CUDA_ERROR_NOT_FOUND: %s", name.c_str());
    return found;
}

static bool resolve(Function *f) {
    if (f->pack) return true;
    PyObject *place = PyObject_CallFunction(locate, "s", f->key.c_str());
    const char *path, *prefix;
    if (!place || !PyArg_ParseTuple(place, "ss", &path, &prefix)) return false;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) PyErr_SetString(PyExc_RuntimeError, dlerror());
    const std::string title = prefix + f->name;
    Py_DECREF(place);
    return library && look_up(library, "run_" + title, f->run) && look_up(library, "pack_" + title, f->pack);
}

API void use_memory(const void *at) {  // a kernel's argument
    auto found = block_of(device_blocks, Address(at));
    if (found != device_blocks.end() && found->second.device != current) is_foreign = true;
}

API PyObject *sim_launchKernel(
    Address at, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, Address stream, Address arguments, Address, int) {
    if (is_forked) return fail(NOT_INITIALIZED);
    auto *function = (Function *)at;
    Stream *target = stream_of(stream);
    if (!target) return fail(BAD_HANDLE);
    if (failing_status) return fail(failing_status);
    if (!gx || !gy || !gz || !bx || bx * by * bz > 1024 || shared > 49152 || gy > 65535 || gz > 65535) return fail(INVALID_VALUE);
    if (gathering) return none();
    if (!resolve(function)) return nullptr;
    if (target != &legacy && target->device != current) return fail(BAD_HANDLE);
    ++(target->capture ? captured : launches);
    is_foreign = false;
    std::shared_ptr<void> packed(function->pack((void **)arguments), free);
    if (is_foreign) return fail(ILLEGAL_ADDRESS);
    const auto run = function->run;
    issue(target, {[=] {
        unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
        run(packed.get(), grid, block, shared);
    }});
    return none();
}

API int sim_funcGetAttribute(int, Address, int) { return 1024; }
API PyObject *sim_occupancyMaxPotentialBlockSize(Address, size_t, int, int) { return Py_BuildValue("(ii)", 132, 256); }
API Address sim_ctxGetCurrent(int) { return 1; }
API int sim_ctxGetDevice(int) { return current; }

// -------------------------------------------------------------------------------------------------- for the simulation

API void set_module(PyObject *module) {
    runtime_module = module;
    Py_INCREF(module);
}
API void set_locate(PyObject *function) {
    locate = function;
    Py_INCREF(function);
}
API void set_gathering(int is_on) { gathering = is_on; }
API void set_devices(int count) { device_count = count; }
API void set_schedule(int which, unsigned long long seed) {
    finish_all();
    schedule = which;
    random_state = seed * 2 + 1;
    mixture = seed;
}
API void set_ignored_wait(long number) {
    ignored_wait = number;
    waits = 0;
}
API void set_failing_status(int status) { failing_status = status; }
API void counts(long *out) {
    const long values[] = {launches, copies, synchronisations, allocations, legacy_uses, waits, graph_launches, captured};
    memcpy(out, values, sizeof values);
}
API int captures() { return capturing; }
API void issue_work(Address stream, Work *work) {  // of the simulated libraries
    ++(stream_of(stream)->capture ? captured : launches);
    std::shared_ptr<Work> owned(work);
    issue(stream_of(stream), {[=] { (*owned)(); }});
}
