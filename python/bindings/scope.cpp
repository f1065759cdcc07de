// Names of a kernel, looked up in the live module when the compiler asks.
//
// A kernel is compiled once for the constants that it saw. They are recorded, so that a later
// launch notices that a constant has changed: code made for the old value would be silently wrong.

#include "core.h"

#include <nanobind/stl/string.h>

namespace tilewright::python {

static thread_local std::vector<UsedGlobal> *recording = nullptr;

Recorder::Recorder(std::vector<UsedGlobal> &used) : previous(recording) {
  recording = &used;
}
Recorder::~Recorder() {
  recording = previous;
}

static nb::object unwrapped(nb::handle object) {
  return memberOr(object, "_tilewright_value", nb::borrow(object));
}

static void record(nb::handle holder, const std::string &name, nb::handle object, const Value &value) {
  if (!recording) return;
  bool constant =
      value.asBool() || value.asInt() || value.asFloat() || value.asString() || value.asSequence() || value.isNone() || value.asType();
  if (!constant) return;
  for (const UsedGlobal &used : *recording)
    if (used.holder.get() == holder.ptr() && used.name == name) return;
  nb::object inner = unwrapped(object);
  recording->push_back({share(holder), name, share(nb::steal(PyUnicode_InternFromString(name.c_str()))), share(inner), !inner.is(object)});
}

void checkUnchanged(const std::vector<UsedGlobal> &used) {
  for (const UsedGlobal &global : used) {
    nb::object now;
    if (PyDict_Check(global.holder.get())) {
      now = nb::borrow(PyDict_GetItem(global.holder.get(), global.key.get()));
    } else {
      now = memberOr(nb::handle(global.holder.get()), "cell_contents", nb::object());
    }
    if (global.isWrapped && now.is_valid()) now = unwrapped(now);
    if (now.ptr() == global.value.get()) continue;
    int same = now.is_valid() ? PyObject_RichCompareBool(now.ptr(), global.value.get(), Py_EQ) : 0;
    if (same == 1) continue;
    clearException();
    auto text = [&](nb::handle object) {
      if (object.is_valid() && global.isWrapped) return "constexpr[" + nb::cast<std::string>(nb::repr(object)) + "]";
      return object.is_valid() ? nb::cast<std::string>(nb::repr(object)) : std::string("undefined");
    };
    raise(PyExc_RuntimeError, "Global variable " + global.name + " has changed since we compiled this kernel, from " +
                                  text(nb::handle(global.value.get())) + " to " + text(now));
  }
}

// No exception may cross the compiler, which is built without them.
template <typename F> static std::optional<Value> guarded(Diagnostics &diagnostics, F &&look) {
  WithGil gil;
  try {
    return look();
  } catch (nb::python_error &error) {
    noteRaised(error, {}, nb::cast<std::string>(nb::str(error.value())), diagnostics);
    return std::nullopt;
  }
}

namespace {

class LiveScope : public Namespace {
public:
  LiveScope(Shared globals, Shared cells, std::string path) : globals(std::move(globals)), cells(std::move(cells)), file(std::move(path)) {}
  std::string path() const override { return file; }

  std::optional<Value> lookup(llvm::StringRef name, Diagnostics &diagnostics) override {
    return guarded(diagnostics, [&] { return find(name.str()); });
  }

  std::vector<std::string> names() const override {
    WithGil gil;
    std::vector<std::string> all;
    for (const Shared &dict : {cells, globals})
      for (auto [key, value] : nb::borrow<nb::dict>(dict.get()))
        if (nb::isinstance<nb::str>(key)) all.push_back(nb::cast<std::string>(key));
    return all;
  }

private:
  std::optional<Value> find(const std::string &key) {
    if (PyObject *cell = PyDict_GetItemString(cells.get(), key.c_str())) {
      nb::object content = memberOr(nb::handle(cell), "cell_contents", nb::object());
      if (!content.is_valid()) return std::nullopt; // assigned later
      return valueOf(cell, key, content);
    }
    PyObject *found = PyDict_GetItemString(globals.get(), key.c_str());
    if (!found) return std::nullopt;
    return valueOf(globals.get(), key, nb::borrow(found));
  }

  static Value valueOf(nb::handle holder, const std::string &name, nb::object object) {
    Value value = toValue(object);
    record(holder, name, object, value);
    return value;
  }
  Shared globals, cells;
  std::string file;
};

class ObjectScope : public Namespace {
public:
  ObjectScope(nb::handle object, std::string path) : object(share(object)), title(std::move(path)) {}
  std::string path() const override { return title; }

  std::optional<Value> lookup(llvm::StringRef name, Diagnostics &diagnostics) override {
    return guarded(diagnostics, [&]() -> std::optional<Value> {
      std::string key = name.str();
      nb::object member = memberOr(nb::handle(object.get()), key.c_str(), nb::object());
      if (!member.is_valid()) return std::nullopt;
      Value value = toValue(member);
      if (PyModule_Check(object.get())) record(PyModule_GetDict(object.get()), key, member, value);
      return value;
    });
  }

  std::vector<std::string> names() const override {
    WithGil gil;
    std::vector<std::string> all;
    nb::object list = nb::steal(PyObject_Dir(object.get()));
    for (nb::handle name : nb::iter(list))
      all.push_back(nb::cast<std::string>(nb::str(name)));
    return all;
  }

private:
  Shared object;
  std::string title;
};

} // namespace

std::shared_ptr<Namespace> functionScope(Shared globals, Shared cells, std::string path) {
  return std::make_shared<LiveScope>(std::move(globals), std::move(cells), std::move(path));
}

std::shared_ptr<Namespace> objectScope(nb::handle object, std::string path) {
  return std::make_shared<ObjectScope>(object, std::move(path));
}

} // namespace tilewright::python
